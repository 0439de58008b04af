"""`leadsman doctor`: what this machine can and cannot do."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from leadsman.errors import LeadsmanError

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. `missing`: what cannot be done without it, and how to get it; empty where all is well."""

    what: str
    found: str
    missing: str = ""


EPILOG = """\b
Examples:
  leadsman doctor
  leadsman doctor || leadsman setup     in a script: fetch what can be fetched
"""


@click.command("doctor", epilog=EPILOG)
def command() -> int:
    """Look for Java, Spark, Hyperscan, Kafka's jars, network namespaces and a browser; say what each is for.

    Exit code 0: everything is there. 1: something is missing; what works without it is said.
    """
    checks = list(_checks())
    width = max(len(check.what) for check in checks)
    for check in checks:
        mark = click.style("-", fg="yellow") if check.missing else click.style("+", fg="green")
        click.echo(f"{mark} {check.what:<{width}}  {check.found}")
        if check.missing:
            click.echo(f"  {'':<{width}}  {check.missing}")
    return int(any(check.missing for check in checks))


def _checks() -> Iterator[Check]:
    yield _java()
    yield _package("pyspark", "Spark", "No diagnosis. pip install 'leadsman[spark]'")
    yield _package(
        "hyperscan", "Hyperscan", "Logs are read with RE2 or Python instead, more slowly. pip install hyperscan"
    )
    yield _package(
        "pysail",
        "Sail",
        "Detectors run on Spark's own SQL: the same answers, more slowly. pip install 'leadsman[spark]'",
    )
    yield _package("isal", "ISA-L", "gzip files are read at half the speed. pip install isal")
    yield _package("confluent_kafka", "Kafka clients", "No reproduction. pip install 'leadsman[lab]'")
    yield _jars()
    yield _fast_start()
    yield _namespaces()
    yield _browser()


def _java() -> Check:
    from leadsman import java  # noqa: PLC0415 - the other commands need no Java

    try:
        path = java.find()
    except LeadsmanError as error:
        return Check("Java", "none that is new enough", f"No diagnosis, no brokers. {error}")
    return Check("Java", f"{java.version_of(path)} at {path}")


def _package(name: str, what: str, missing: str) -> Check:
    if find_spec(name) is None:
        return Check(what, "not installed", missing)
    try:
        return Check(what, version(name.replace("_", "-")))
    except PackageNotFoundError:
        return Check(what, "installed")


def _jars() -> Check:
    from leadsman import jars  # noqa: PLC0415

    sets = jars.lock()
    absent = [name for name, members in sets.items() if not all(jar.path.exists() for jar in members)]
    if absent:
        return Check("Kafka's jars", f"{len(sets) - len(absent)} of {len(sets)} sets", "Fetch them now: leadsman setup")
    return Check("Kafka's jars", f"{len(sets)} sets")


def _fast_start() -> Check:
    if find_spec("pyspark") is None:
        return Check("Fast start", "needs Spark", "pip install 'leadsman[spark]'")
    from leadsman import java  # noqa: PLC0415
    from leadsman.pipeline import jvm  # noqa: PLC0415

    try:
        ready = jvm.usable(jvm.archive_of(java.find(), jvm.class_path(())))
    except (LeadsmanError, OSError):
        ready = False
    return (
        Check("Fast start", "ready")
        if ready
        else Check("Fast start", "not made", "Spark starts more slowly. leadsman setup")
    )


def _namespaces() -> Check:
    probe = (
        subprocess.run(["unshare", "-Urn", "true"], capture_output=True, check=False)
        if shutil.which("unshare")
        else None
    )
    if os.geteuid() == 0 or (probe and probe.returncode == 0):
        return Check("Network namespaces", "as root" if os.geteuid() == 0 else "as this user")
    return Check(
        "Network namespaces",
        "not allowed",
        "Failures of the kernel cannot be reproduced. Run as root, or allow user namespaces.",
    )


def _browser() -> Check:
    names = (os.environ.get("LEADSMAN_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    path = next((found for name in names if name and (found := shutil.which(name))), None)
    return (
        Check("Browser", path)
        if path
        else Check("Browser", "no Chromium", "Only the tests of the report page need it.")
    )
