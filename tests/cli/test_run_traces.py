"""A diagnosis opens sockets on loopback alone, keeps temporary files from other users, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_address
from typing import TYPE_CHECKING

import psutil
import pytest

from leadsman.catalogue import every_mode
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


pytestmark = pytest.mark.spark

(MODE,) = (mode for mode in every_mode() if mode.name == "idle_disconnect")
RECORDING = MODE.folder / "recorded" / "broken-kafka-python"
SOON = timedelta(seconds=90)


def family(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    try:
        main = psutil.Process(process.pid)
        return [main, *main.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def listening_addresses(process: subprocess.Popen[bytes]) -> set[str]:
    found: set[str] = set()
    for each in family(process):
        try:
            connections = each.net_connections("inet")
        except psutil.Error:
            continue
        found |= {connection.laddr.ip for connection in connections if connection.status == psutil.CONN_LISTEN}
    return found


def is_jvm(process: psutil.Process) -> bool:
    try:
        return "java" in process.name()
    except psutil.Error:
        return False


def is_loopback(address: str) -> bool:
    parsed = ip_address(address)
    mapped = getattr(parsed, "ipv4_mapped", None)
    return (mapped or parsed).is_loopback


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of temporary files for all runs of this module."""
    return tmp_path_factory.mktemp("scratch")


@contextmanager
def running(scratch: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A diagnosis in a process of its own, whose temporary files lie in `scratch`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "leadsman", "diagnose", str(RECORDING), *words],
        env={**os.environ, "TMPDIR": str(scratch), "LEADSMAN_DAEMON": "off"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def alive_after_kill(scratch: Path) -> list[psutil.Process]:
    """The processes of a run that are still alive after it was killed. Its files stay."""
    with running(scratch) as process:
        wait_for(
            lambda: any(map(is_jvm, family(process))) and any(scratch.glob("leadsman-*/spark-*")),
            timeout=SOON,
            what="Spark",
        )
        started = family(process)
        process.send_signal(signal.SIGKILL)
        process.wait()
    _, alive = psutil.wait_procs(started, timeout=SOON.total_seconds())
    return alive


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """What the run after that left on the machine: at its begin, while it ran, and at its end."""

    code: int
    addresses: set[str]
    modes: set[int]
    files_before: list[Path]
    files_after: list[Path]


@pytest.fixture(scope="module")
def traces(alive_after_kill: list[psutil.Process], scratch: Path, tmp_path_factory: pytest.TempPathFactory) -> Traces:
    addresses: set[str] = set()
    modes: set[int] = set()
    before = list(scratch.iterdir())
    with running(scratch, "--out", str(tmp_path_factory.mktemp("out") / "report"), "--table", "parquet") as process:
        while process.poll() is None:
            addresses |= listening_addresses(process)
            modes |= {path.stat().st_mode & 0o777 for path in scratch.iterdir() if path.is_dir()}
            psutil.cpu_percent(interval=0.05)
    return Traces(
        code=process.returncode,
        addresses=addresses,
        modes=modes,
        files_before=before,
        files_after=list(scratch.iterdir()),
    )


def test_every_socket_is_on_loopback(traces: Traces) -> None:
    assert traces.code == 1
    assert traces.addresses
    assert {address for address in traces.addresses if not is_loopback(address)} == set()


def test_every_temporary_folder_is_private(traces: Traces) -> None:
    assert traces.modes == {0o700}


def test_a_run_that_is_killed_leaves_no_jvm(alive_after_kill: list[psutil.Process]) -> None:
    assert alive_after_kill == []


def test_the_next_run_removes_the_files_of_one_that_was_killed_and_its_own(traces: Traces) -> None:
    assert traces.files_before
    assert traces.files_after == []
