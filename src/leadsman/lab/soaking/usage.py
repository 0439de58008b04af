"""What a watch takes at one moment: memory of its processes, live objects of its JVM, times, and its state on disk."""

from __future__ import annotations

import re
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from typing import TYPE_CHECKING
from urllib.request import urlopen

import psutil

from leadsman.errors import LabError
from leadsman.java.runtime import find_tool
from leadsman.lab.processes.marked import process_name
from leadsman.lab.processes.program import TOOL_TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

RESPONSE_TIMEOUT_SECONDS = 10
TOTAL = re.compile(r"^Total\s+\d+\s+(\d+)", re.MULTILINE)
"""The last line of `jcmd PID GC.class_histogram`: the bytes of all objects that are reachable after a collection."""

VALUE = r"^leadsman_watch_{}(?:\{{[^}}]*\}})? ([0-9.e+-]+)"


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchUsage:
    """What a watch takes. `driver_mb` and `workers_mb` are resident memory, `heap_mb` the live objects of the JVM.

    `batch_seconds` and `round_seconds` are means since the look before.
    """

    hour: int
    driver_mb: float
    workers_mb: float
    heap_mb: float
    batch_seconds: float
    round_seconds: float
    batches: float
    events: float
    state_mb: float
    state_files: int
    cpu_seconds: float


@dataclass(slots=True)
class UsageMeter:
    """Measures a watch again and again. `page` is the address of its page, `state` its folder."""

    page: str
    state: Path
    _totals: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)

    def is_ready(self) -> bool:
        """Whether the watch answers that it is ready."""
        with suppress(OSError, HTTPException):
            return bool(_get(f"{self.page}ready"))
        return False

    def measure(self, hour: int, processes: Sequence[psutil.Process], main: int) -> WatchUsage:
        """Return what is taken now."""
        text = _get(f"{self.page}metrics")
        before, self._totals = self._totals, tuple(_value(text, name) for name in TOTALS)  # type: ignore[assignment]
        batches, batch_total, rounds, round_total = (now - then for now, then in zip(self._totals, before, strict=True))
        java = [each for each in processes if process_name(each) == "java"]
        python = [each for each in processes if process_name(each).startswith("python")]
        files = [each for each in self.state.rglob("*") if each.is_file()]
        return WatchUsage(
            hour=hour,
            driver_mb=sum(_rss_mb(each) for each in python if each.pid == main),
            workers_mb=sum(_rss_mb(each) for each in python if each.pid != main),
            heap_mb=sum(_live_mb(each.pid) for each in java),
            batch_seconds=batch_total / batches if batches else 0.0,
            round_seconds=round_total / rounds if rounds else 0.0,
            batches=batches,
            events=_value(text, "events"),
            state_mb=sum(_size(each) for each in files) / 1e6,
            state_files=len(files),
            cpu_seconds=sum(_cpu_seconds(each) for each in processes),
        )


TOTALS = ("batch_seconds_count", "batch_seconds_sum", "round_seconds_count", "round_seconds_sum")


def _get(url: str) -> str:
    with urlopen(url, timeout=RESPONSE_TIMEOUT_SECONDS) as response:  # noqa: S310 - an address of our own
        return str(response.read().decode())


def _value(metrics: str, name: str) -> float:
    match = re.search(VALUE.format(name), metrics, re.MULTILINE)
    if match is None:
        raise LabError(f"The watch has no metric leadsman_watch_{name}.")
    return float(match[1])


def _live_mb(pid: int) -> float:
    """Collect the garbage of a JVM, and return the size of what is left."""
    command = [str(find_tool("jcmd")), str(pid), "GC.class_histogram"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TOOL_TIMEOUT.total_seconds(), check=False)
    match = TOTAL.search(done.stdout)
    if match is None:
        raise LabError(f"jcmd says nothing of the objects of JVM {pid}: {done.stderr or done.stdout}")
    return int(match[1]) / 1e6


def _rss_mb(process: psutil.Process) -> float:
    with suppress(psutil.Error):
        return float(process.memory_info().rss) / 1e6
    return 0.0


def _cpu_seconds(process: psutil.Process) -> float:
    with suppress(psutil.Error):
        times = process.cpu_times()
        return float(times.user + times.system)
    return 0.0


def _size(path: Path) -> int:
    with suppress(OSError):  # it is replaced meanwhile
        return path.stat().st_size
    return 0
