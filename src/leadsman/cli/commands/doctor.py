"""`leadsman doctor`: checks which features this machine can run."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from leadsman.cli.terminal import echo
from leadsman.errors import LeadsmanError
from leadsman.installation import install_command

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class MachineCheck:
    """One check. `missing` says what does not work without it and how to install it; empty where it is installed."""

    feature: str
    status: str
    missing: str = ""


EPILOG = """\b
Examples:
  leadsman doctor
  leadsman doctor || leadsman setup     in a script
"""


@click.command("doctor", epilog=EPILOG)
def command() -> int:
    """Look for Java, Spark, Hyperscan, Kafka's jars, network namespaces and a browser.

    Exit code 0: everything is installed. 1: something is missing; the output says what does not work without it.
    """
    checks = list(_checks())
    width = max(len(check.feature) for check in checks)
    for check in checks:
        click.secho("- " if check.missing else "+ ", fg="yellow" if check.missing else "green", nl=False)
        echo(f"{check.feature:<{width}}  {check.status}")
        if check.missing:
            echo(f"  {'':<{width}}  {check.missing}")
    return int(any(check.missing for check in checks))


def _checks() -> Iterator[MachineCheck]:
    yield _java()
    yield _package("pyspark", "Spark", f"No diagnosis. {install_command('spark')}")
    yield _package(
        "hyperscan", "Hyperscan", "Logs are read with RE2 or Python instead, which is slower. pip install hyperscan"
    )
    yield _package(
        "pysail",
        "Sail",
        f"Detectors run on Spark's own SQL: the same results, slower. {install_command('spark')}",
    )
    yield _package("isal", "ISA-L", "gzip files are read at half the speed. pip install isal")
    yield _package("confluent_kafka", "Kafka clients", f"No reproduction. {install_command('lab')}")
    yield _package("grafana_foundation_sdk", "Grafana's types", f"No dashboards. {install_command('dashboards')}")
    yield _package("apprise", "apprise", f"No --notify apprise=URL. {install_command('notify')}")
    yield _jars()
    yield _fast_start()
    yield _namespaces()
    yield _browser()


def _java() -> MachineCheck:
    from leadsman.java import runtime  # the other commands need no Java

    try:
        path = runtime.find_java()
    except LeadsmanError as error:
        return MachineCheck("Java", "none, or too old", f"No diagnosis, no brokers. {error}")
    return MachineCheck("Java", f"{runtime.java_version(path)} at {path}")


def _package(name: str, feature: str, missing: str) -> MachineCheck:
    if find_spec(name) is None:
        return MachineCheck(feature, "not installed", missing)
    try:
        return MachineCheck(feature, version(name.replace("_", "-")))
    except PackageNotFoundError:
        return MachineCheck(feature, "installed")


def _jars() -> MachineCheck:
    from leadsman.java import jars

    sets = jars.jar_sets()
    absent = [name for name, members in sets.items() if not all(jar.path.exists() for jar in members)]
    if absent:
        return MachineCheck(
            "Kafka's jars", f"{len(sets) - len(absent)} of {len(sets)} sets", "Fetch the jars: leadsman setup"
        )
    return MachineCheck("Kafka's jars", f"{len(sets)} sets")


def _fast_start() -> MachineCheck:
    if find_spec("pyspark") is None:
        return MachineCheck("Fast start", "needs Spark", install_command("spark"))
    from leadsman.java import runtime
    from leadsman.java.class_archives import is_archive_complete
    from leadsman.pipeline.spark import jvm

    try:
        ready = is_archive_complete(jvm.archive_path(runtime.find_java()))
    except (LeadsmanError, OSError):
        ready = False
    return (
        MachineCheck("Fast start", "ready")
        if ready
        else MachineCheck("Fast start", "not prepared", "Spark starts more slowly. leadsman setup")
    )


def _namespaces() -> MachineCheck:
    probe = (
        subprocess.run(["unshare", "-Urn", "true"], capture_output=True, check=False)
        if shutil.which("unshare")
        else None
    )
    if os.geteuid() == 0 or (probe and probe.returncode == 0):
        return MachineCheck("Network namespaces", "as root" if os.geteuid() == 0 else "as this user")
    return MachineCheck(
        "Network namespaces",
        "not allowed",
        "Failures of the kernel cannot be reproduced. Run as root, or allow user namespaces.",
    )


def _browser() -> MachineCheck:
    names = (os.environ.get("LEADSMAN_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    path = next((path for name in names if name and (path := shutil.which(name))), None)
    return (
        MachineCheck("Browser", path)
        if path
        else MachineCheck("Browser", "no Chromium", "Only the tests of the report page need it.")
    )
