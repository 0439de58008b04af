"""The journal of a sweep: one line for each cell that was played, so that a second start goes on where one ended."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from leadsman.errors import UsageError
from leadsman.lab.sweep.grid import Cell, Try
from leadsman.model import Harm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

FILE = "journal.jsonl"

SURVIVABLE = frozenset({Harm.DUPLICATED.value, Harm.DELAYED.value})
"""Harm that a client lives on with. Any other is for somebody to repair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What came of one program: its harm, counted by kind, and the longest that a record waited, in seconds."""

    harm: Mapping[str, int]
    waited: float

    @property
    def survived(self) -> bool:
        """Whether it lives, and nothing is lost or left lying."""
        return not any(count for kind, count in self.harm.items() if kind not in SURVIVABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What came of one cell in one run.

    `fates` are by program; where all are alike there is one, without a name. `settling` is how many seconds the world
    was out of order, by the lab's own clock; None where the play does not say. `lasted` is the whole run's length,
    which it shared with `together` cells.
    """

    client: str
    settings: Mapping[str, str]
    repeat: int
    fates: Mapping[str, Fate]
    lasted: float
    together: int = 1
    settling: float | None = None

    @property
    def cell(self) -> Cell:
        """The cell that was played."""
        return Cell(self.client, tuple(sorted(self.settings.items())))

    @property
    def played(self) -> Try:
        """Which repeat of which cell it was."""
        return Try(self.cell, self.repeat)


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a journal is of. Entries of another mode, variant or broker are no repeats of these."""

    mode: str
    variant: str
    kafka: str


@dataclass(slots=True)
class Journal:
    """A file that only grows. A line that was cut by the end of a process is dropped."""

    file: Path
    about: About
    entries: list[Entry] = field(default_factory=list)

    def open(self) -> None:
        """Read what is there, or begin the file."""
        if not self.file.exists():
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self._write([asdict(self.about)])
            return
        head, *rest = _lines(self.file) or [{}]
        if head != asdict(self.about):
            raise UsageError(
                f"{self.file} is of {_named(head)}, not of {_named(asdict(self.about))}. Name another --out."
            )
        self.entries = [_entry(line) for line in rest]

    def add(self, entries: Sequence[Entry]) -> None:
        """Note what came of a run, on the disk when this returns."""
        self.entries += entries
        self._write([asdict(entry) for entry in entries])

    def _write(self, lines: Sequence[Mapping[str, object]]) -> None:
        with self.file.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())


def _lines(file: Path) -> list[dict[str, Any]]:
    """Return the whole lines. What a cut one would have said is played again; the cut is taken off the file."""
    text = file.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        file.write_text(whole, encoding="utf-8")
    return [json.loads(line) for line in whole.splitlines()]


def _entry(line: Mapping[str, Any]) -> Entry:
    return Entry(**{**line, "fates": {who: Fate(**fate) for who, fate in line["fates"].items()}})


def _named(about: Mapping[str, object]) -> str:
    return ", ".join(str(value) for value in about.values()) or "nothing"
