"""How fast this machine is: ripgrep's time for its parse of the benchmark's logs, which scales goals in seconds."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench.generate import generated
from bench.jobs import Bench, ripgrep

GOAL_MACHINE_SECONDS = 3.5
"""What ripgrep takes on the machine for which goals are given in seconds."""


@dataclass(slots=True)
class MachineSpeed:
    """ripgrep's times in one run of a benchmark, in seconds."""

    seconds: list[float] = field(default_factory=list)

    def measure(self, runs: int = 3) -> None:
        """Run ripgrep on the logs of `python -m bench`, which are generated where they are not there yet."""
        logs = generated("full")
        with tempfile.TemporaryDirectory(prefix="leadsman-bench-") as work:
            bench = Bench(logs, Path(work), os.cpu_count() or 2)
            for _ in range(runs):
                started = time.perf_counter()
                ripgrep(bench)
                self.seconds.append(time.perf_counter() - started)

    def scaled(self, goal: float) -> float:
        """Return what a goal is on this machine, both in seconds."""
        return goal * median(self.seconds) / GOAL_MACHINE_SECONDS

    def explained(self) -> str:
        """Return the sentence on how goals are scaled."""
        low, high = min(self.seconds), max(self.seconds)
        return (
            f"Goals in seconds are for a machine on which ripgrep takes {GOAL_MACHINE_SECONDS:g} s for its parse of "
            "the logs of `python -m bench`; "
            f"in this run it took {median(self.seconds):.1f} s ({low:.1f} to {high:.1f})."
        )

    def verdict(self, what: str, goal: float, measured: float) -> str:
        """Return the sentence on whether a goal is reached."""
        here = self.scaled(goal)
        reached = "reached" if measured <= here else "**not reached**"
        return f"Goal for {what}: {goal:g} s, which is {here:.0f} s on this machine: {reached}."
