"""A diagnosis opens sockets on loopback alone, keeps temporary files from other users, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
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


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


@pytest.fixture
def running(tmp_path: Path, scratch: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A diagnosis in a process of its own, whose temporary files lie in `scratch`."""
    words = ["diagnose", str(RECORDING), "--out", str(tmp_path / "report"), "--table", "parquet"]
    process = subprocess.Popen(
        [sys.executable, "-m", "leadsman", *words],
        env={**os.environ, "TMPDIR": str(scratch), "LEADSMAN_DAEMON": "off"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    yield process
    process.kill()
    process.wait()


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


def test_every_socket_is_on_loopback_and_every_temporary_folder_is_private(
    running: subprocess.Popen[bytes], scratch: Path
) -> None:
    addresses: set[str] = set()
    modes: set[int] = set()
    while running.poll() is None:
        addresses |= listening_addresses(running)
        modes |= {path.stat().st_mode & 0o777 for path in scratch.iterdir() if path.is_dir()}
        psutil.cpu_percent(interval=0.05)

    assert running.returncode == 1
    assert addresses
    assert {address for address in addresses if not is_loopback(address)} == set()
    assert modes == {0o700}
    assert list(scratch.iterdir()) == []


def is_loopback(address: str) -> bool:
    parsed = ip_address(address)
    mapped = getattr(parsed, "ipv4_mapped", None)
    return (mapped or parsed).is_loopback


def test_a_run_that_is_killed_leaves_no_jvm_and_the_next_run_removes_its_files(
    running: subprocess.Popen[bytes], scratch: Path
) -> None:
    jvms: list[psutil.Process] = []

    def find_jvm() -> bool:
        jvms[:] = [each for each in family(running) if is_jvm(each)]
        return bool(jvms) and any(scratch.glob("leadsman-*/spark-*"))

    wait_for(find_jvm, timeout=SOON, what="Spark")
    started = [*family(running)]
    running.send_signal(signal.SIGKILL)
    running.wait()
    _, alive = psutil.wait_procs(started, timeout=SOON.total_seconds())

    assert alive == []
    subprocess.run(
        [sys.executable, "-m", "leadsman", "diagnose", str(RECORDING)],
        env={**os.environ, "TMPDIR": str(scratch), "LEADSMAN_DAEMON": "off"},
        check=False,
        capture_output=True,
    )
    assert list(scratch.iterdir()) == []
