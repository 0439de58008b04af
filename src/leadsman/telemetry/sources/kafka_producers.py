"""`kafka-transactions describe-producers`: the producer ids that the leader of one partition holds.

The output does not say of which partition: the command does, which stands above a collected section, or in the trace
of a script that appends one answer after the other to a file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from leadsman import vocabulary as v
from leadsman.telemetry.bulk import line_starts
from leadsman.telemetry.census import summary
from leadsman.telemetry.reading import About, Facts, Reading, fact, told_by
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

LAST_COLUMN = b"CurrentTransactionStartOffset"
WIDTH = 6
NEEDED = [2, 3, 4]
"""Columns: id, epoch, coordinator's epoch, last sequence, last timestamp, offset of the open transaction or None."""

NO_NUMBER = re.compile(rb"[^0-9\s\-]")
NONE, AS_NUMBER = b"None", b"  -1"
"""As long as each other, so that numbers stand where the text does."""

COMMAND = re.compile(rb"describe-producers\s[^\r\n]*")
TIME = re.compile(rb"(?<!\d)(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:Z|[+-]\d\d:?\d\d))")
"""Of a shell's trace or a script's output. Only a time that says its zone is one of `date -u` or the like."""


class _Silent(NamedTuple):
    """A row that can be quoted: when its id last sent, the row's line, its text."""

    at: int
    line: int
    text: str


NOBODY = _Silent(np.iinfo(np.int64).max, 0, "")


@dataclass(slots=True)
class _Table:
    """One answer: what stood above it, its heading, its rows."""

    about: About
    line: int
    text: str
    rows: list[NDArray[np.int64]] = field(default_factory=list)
    silent: _Silent = NOBODY

    def facts(self) -> Facts:
        """Return the count of its ids, and what they are."""
        coordinator, sequence, timestamp = np.concatenate([np.empty((0, len(NEEDED)), np.int64), *self.rows]).T
        value, labels = summary(sequence, timestamp, at=self.about.at, coordinator_epoch=coordinator)
        labels |= {"via": "describe_producers"}
        labels |= {name: told for name in ("topic", "partition") if (told := self.about.option(f"--{name}"))}
        line, shown = (self.silent.line, self.silent.text) if self.silent.line else (self.line, self.text)
        one = fact(v.PRODUCERS_COUNTED, line, shown, value, broker=self.about.option("--broker-id"), **labels)
        return one if self.about.at is None else replace(one, at=(self.about.at,))


def _facts(blocks: Iterable[bytes], about: About) -> Iterator[Facts]:
    """Read whole blocks: of ten million ids no ten million objects are made.

    A file can hold many answers, one below the other. The command and the time that stand above one are its own.
    """
    table: _Table | None = None
    above, known = 0, about
    for block in blocks:
        lines = 0
        counted = 0
        for since, until, other in _stretches(block):
            if table is not None and until > since:
                lines, counted = lines + block.count(b"\n", counted, since), since
                _add(table, block[since:until], above + lines)
            lines, counted = lines + block.count(b"\n", counted, until), until
            if other and table is not None:
                yield table.facts()
                table, known = None, about
            if LAST_COLUMN in other:
                table = _Table(known, above + lines + 1, _text(other))
            elif other:
                known = _known(known, other)
        above += block.count(b"\n")
    if table is not None:
        yield table.facts()


def _stretches(block: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield where rows begin and end, and the line below them that is no row; empty at the end of the block."""
    digits = block.replace(NONE, AS_NUMBER)
    since = 0
    while strange := NO_NUMBER.search(digits, since):
        until = digits.rfind(b"\n", since, strange.start()) + 1 or since
        end = block.find(b"\n", until) + 1 or len(block)
        yield since, until, block[until:end]
        since = end
    yield since, len(block), b""


def _known(known: About, line: bytes) -> About:
    """Return what is known of the next answer, with what a line above it says."""
    if found := COMMAND.search(line):
        known = replace(known, command=_text(found[0]))
    if found := TIME.search(line):
        known = replace(known, at=round(datetime.fromisoformat(found[1].decode()).timestamp() * 1000))
    return known


def _add(table: _Table, rows: bytes, above: int) -> None:
    """Add rows of which the first stands below so many lines."""
    numbers = np.fromstring(rows.replace(NONE, AS_NUMBER).decode("ascii"), np.int64, sep=" ") if rows.strip() else None
    if numbers is not None:
        needed = numbers[: len(numbers) // WIDTH * WIDTH].reshape(-1, WIDTH)[:, NEEDED]
        table.rows.append(needed)
        table.silent = min(table.silent, _longest_silent(needed, rows, above))


def _longest_silent(table: NDArray[np.int64], rows: bytes, above: int) -> _Silent:
    """Return the row that shows most of a leak: an id that sent one record, the longest ago."""
    if not len(table):
        return NOBODY
    _, sequence, timestamp = table.T
    times = np.where(sequence == 0, timestamp, np.iinfo(np.int64).max - 1)
    row = int(times.argmin())
    begin = int(np.concatenate(([0], line_starts(rows)))[row])
    return _Silent(int(times[row]), above + row + 1, _text(rows[begin:].split(b"\n", 1)[0]))


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r\n")


SOURCE = Source(
    "kafka_producers",
    "kafka-transactions describe-producers",
    "state",
    reading=Reading(
        tells=told_by(r"ProducerId\s+ProducerEpoch\s+LatestCoordinatorEpoch"),
        facts=_facts,
        reports=frozenset({v.PRODUCERS_COUNTED}),
    ),
)
