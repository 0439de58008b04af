"""The journal of a sweep: one line for each cell that ran, so that a second start continues where the first ended."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from leadsman.errors import UsageError
from leadsman.model import Harm
from leadsman.sweep.grid import SweepCell, Trial

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

FILE = "journal.jsonl"

SURVIVABLE = frozenset({Harm.DUPLICATED.value, Harm.DELAYED.value})
"""Harm after which a client still runs and no record is missing. Any other harm needs a repair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramOutcome:
    """The outcome of one program: its harm, counted by kind, and the longest wait of a record, in seconds."""

    harm: Mapping[str, int]
    waited: float

    @property
    def survived(self) -> bool:
        """Whether it still runs, and no record is lost or unprocessed."""
        return not any(count for kind, count in self.harm.items() if kind not in SURVIVABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """The outcome of one cell in one run.

    `outcomes` are by program; without services there is one, without a name. `recovery_seconds` is the time from the
    fault to the cluster's recovery, by the lab's own clock; None where the variant marks neither. `run_seconds` is
    the whole run's length, which it shared with `together` cells.
    """

    client: str
    settings: Mapping[str, str]
    repeat: int
    outcomes: Mapping[str, ProgramOutcome]
    run_seconds: float
    together: int = 1
    recovery_seconds: float | None = None

    @property
    def cell(self) -> SweepCell:
        """The cell that ran."""
        return SweepCell(self.client, tuple(sorted(self.settings.items())))

    @property
    def trial(self) -> Trial:
        """Which repeat of which cell it was."""
        return Trial(self.cell, self.repeat)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepTarget:
    """What a journal is about. Entries of another mode, variant or broker are no repeats of these."""

    mode: str
    variant: str
    kafka: str


@dataclass(slots=True)
class Journal:
    """A file that only grows. A line that was cut by the end of a process is dropped."""

    file: Path
    about: SweepTarget
    entries: list[JournalEntry] = field(default_factory=list)

    def open(self) -> None:
        """Read the entries of the file, or begin it."""
        if not self.file.exists():
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self._write([asdict(self.about)])
            return
        try:
            first_line, *lines = _lines(self.file) or [{}]
            entries, about = [_entry(line) for line in lines], _describe(first_line)
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise UsageError(f"{self.file} is no journal of a sweep. Name another --out.") from error
        if first_line != asdict(self.about):
            raise UsageError(f"{self.file} is of {about}, not of {_describe(asdict(self.about))}. Name another --out.")
        self.entries = entries

    def add(self, entries: Sequence[JournalEntry]) -> None:
        """Append the outcome of a run; it is on the disk when this returns."""
        self.entries += entries
        self._write([_to_json(entry) for entry in entries])

    def _write(self, lines: Sequence[Mapping[str, object]]) -> None:
        with self.file.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())


def _lines(file: Path) -> list[dict[str, Any]]:
    """Return the complete lines. The cell of a cut line runs again; the cut line is removed from the file."""
    text = file.read_text(encoding="utf-8")
    complete = text[: text.rfind("\n") + 1]
    lines = [json.loads(line) for line in complete.splitlines()]
    if complete != text:
        file.write_text(complete, encoding="utf-8")
    return lines


KEYS = {"outcomes": "fates", "run_seconds": "lasted", "recovery_seconds": "settling"}
"""Keys of the file by field, where they differ: a journal of an earlier version can be continued."""


def _to_json(entry: JournalEntry) -> dict[str, Any]:
    return {KEYS.get(name, name): value for name, value in asdict(entry).items()}


def _entry(line: Mapping[str, Any]) -> JournalEntry:
    names = {key: name for name, key in KEYS.items()}
    fields = {names.get(key, key): value for key, value in line.items()}
    outcomes = {program: ProgramOutcome(**outcome) for program, outcome in line["fates"].items()}
    return JournalEntry(**{**fields, "outcomes": outcomes})


def _describe(about: Mapping[str, object]) -> str:
    return ", ".join(str(value) for value in about.values()) or "nothing"
