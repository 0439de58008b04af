"""What a form of telemetry is to the benchmark: who writes it, which peer reads the same bytes, and what is wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Write = Callable[[Path, int], None]
"""Fills an empty folder with about so many bytes, as a stream: the process's memory does not follow the size."""

MAX_MEMORY_MB = 300
"""Peak memory of a task that reads the form, in megabytes."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What is wanted: a share of the peer's speed, or, where `mb_s` is given, megabytes a second of a core."""

    ratio: float = 0.0
    mb_s: float = 0.0

    def reached(self, ratio: float, mb_s: float) -> float:
        """Return how much of the goal is reached: 1 is all of it."""
        return mb_s / self.mb_s if self.mb_s else ratio / self.ratio

    def __str__(self) -> str:
        return f"{self.mb_s:.0f} MB/s" if self.mb_s else f"{self.ratio:.2f} x"


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A row. `also` names further peers that only get a column; `twin` writes what the peer reads, where it is other
    files than leadsman's. `sources` can have written its lines: a peer looks for their signatures."""

    name: str
    write: Write
    peer: str
    goal: Goal
    also: tuple[str, ...] = ()
    twin: Write | None = None
    sources: tuple[str, ...] = ()
