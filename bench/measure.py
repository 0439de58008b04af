"""Runs jobs turn by turn, so that whatever else the machine does falls on all of them alike."""

from __future__ import annotations

import gc
import os
import threading
import time
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any, Self

import psutil
from bench.cpu_time import cpu_seconds, process_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SAMPLE_SECONDS = 0.05


@dataclass(slots=True)
class Job:
    """What is measured. `run` returns facts; a fact called `seconds` replaces the wall time (a start-up left out)."""

    name: str
    run: Callable[[], Mapping[str, Any]]
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    others: list[float] = field(default_factory=list)  # cores that other programs kept busy meanwhile
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """The median wall time."""
        return median(self.wall)


def in_turn(jobs: list[Job], runs: int, report: Callable[[str], None]) -> None:
    """Run A, B, C, A, B, C, ..."""
    for number in range(1, runs + 1):
        for job in jobs:
            gc.collect()
            _once(job)
            report(
                f"{job.name} {number}/{runs}: {job.wall[-1]:.2f} s, {job.cpu[-1]:.2f} s of CPU time, "
                f"{job.others[-1]:.1f} cores busy elsewhere"
            )


def _once(job: Job) -> None:
    busy, ours, started = _busy(), cpu_seconds(), time.perf_counter()
    facts = job.run()
    wall = time.perf_counter() - started
    cpu = cpu_seconds() - ours
    job.wall.append(facts.get("seconds", wall))
    job.cpu.append(cpu)
    job.others.append(max(0.0, (_busy() - busy - cpu) / wall))
    job.facts = dict(facts)


def ratios(of: Job, to: Job) -> tuple[float, float, float]:
    """Return how many times faster `of` is than `to`: median, smallest and largest, run by run."""
    each = [theirs / ours for ours, theirs in zip(of.wall, to.wall, strict=True)]
    return median(each), min(each), max(each)


def cpu_ratio(of: Job, to: Job) -> float:
    """Return the same in CPU time, which a busy machine disturbs less."""
    return median(to.cpu) / median(of.cpu)


def _busy() -> float:
    times = psutil.cpu_times()
    return float(times.user + times.system + times.nice)


class PythonMemory:
    """The largest sum of resident memory of this family's Python processes, in bytes, while the block runs."""

    def __init__(self) -> None:
        self.peak = 0
        self._done = threading.Event()
        self._watch = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watch.join()

    def _look(self) -> None:
        while not self._done.wait(SAMPLE_SECONDS):
            self.peak = max(self.peak, sum(map(_resident, process_tree())))


def _resident(process: psutil.Process) -> int:
    """Return the memory that is the process's own: workers are forks, and share the rest with their daemon."""
    try:
        return int(process.memory_full_info().uss) if "python" in process.name() else 0
    except psutil.Error:
        return 0


def machine() -> dict[str, str]:
    """Return what the figures were taken on."""
    with open("/proc/cpuinfo") as file:  # noqa: PTH123 - one line of a kernel file
        model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown")
    return {
        "processor": model,
        "cores": str(os.cpu_count()),
        "memory": f"{psutil.virtual_memory().total / 1e9:.0f} GB",
        "load at the start": ", ".join(f"{load:.1f}" for load in os.getloadavg()),
    }
