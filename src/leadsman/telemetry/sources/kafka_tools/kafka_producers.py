"""`kafka-transactions describe-producers`: the producer ids that the leader of one partition keeps.

The output does not name the partition. The command does, which stands above a collected section, or in the trace of a
script that appends one output after the other to a file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from leadsman import vocabulary as v
from leadsman.telemetry.outputs.parser import EventColumns, OutputContext, OutputParser, head_line_matches, single_event
from leadsman.telemetry.producer_state.summary import summarize_producer_ids
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

LAST_COLUMN = b"CurrentTransactionStartOffset"
COLUMN_COUNT = 6
USED_COLUMNS = [2, 3, 4]
"""Columns: id, epoch, coordinator's epoch, last sequence, last timestamp, offset of the open transaction or None."""

NO_NUMBER = re.compile(rb"[^0-9\s\-]")
NONE, AS_NUMBER = b"None", b"  -1"
"""Both of one length: a block in which one replaces the other keeps its offsets."""

COMMAND = re.compile(rb"describe-producers\s[^\r\n]*")
TIME = re.compile(rb"(?<!\d)(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:Z|[+-]\d\d:?\d\d))")
"""In the trace of a shell or the output of a script. Only a time that names its zone is used."""


class _QuotedRow(NamedTuple):
    """A row that can be quoted: when its id last sent, its line, its text."""

    at: int
    line: int
    text: str


NO_ROW = _QuotedRow(np.iinfo(np.int64).max, 0, "")


@dataclass(slots=True)
class _Table:
    """One output: the context that stands above it, its heading, its rows."""

    context: OutputContext
    line: int
    text: str
    rows: list[NDArray[np.int64]] = field(default_factory=list)
    oldest: _QuotedRow = NO_ROW

    def events(self) -> EventColumns:
        """Return the count of its ids, and what is known of them."""
        coordinator, sequence, timestamp = np.concatenate([np.empty((0, len(USED_COLUMNS)), np.int64), *self.rows]).T
        value, labels = summarize_producer_ids(sequence, timestamp, at=self.context.at, coordinator_epoch=coordinator)
        labels |= {"via": "describe_producers"}
        labels |= {name: option for name in ("topic", "partition") if (option := self.context.option(f"--{name}"))}
        line, text = (self.oldest.line, self.oldest.text) if self.oldest.line else (self.line, self.text)
        event = single_event(
            v.PRODUCERS_COUNTED, line, text, value, broker=self.context.option("--broker-id"), **labels
        )
        return event if self.context.at is None else replace(event, at=(self.context.at,))


def _parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:
    """Parse whole blocks: ten million ids do not become ten million objects.

    A file can hold many outputs, one below the other. Each has the command and the time that stand above it.
    """
    table: _Table | None = None
    lines_above, current = 0, context
    for block in blocks:
        lines = 0
        counted = 0
        for since, until, other in _row_ranges(block):
            if table is not None and until > since:
                lines, counted = lines + block.count(b"\n", counted, since), since
                _add(table, block[since:until], lines_above + lines)
            lines, counted = lines + block.count(b"\n", counted, until), until
            if other and table is not None:
                yield table.events()
                table, current = None, context
            if LAST_COLUMN in other:
                table = _Table(current, lines_above + lines + 1, _text(other))
            elif other:
                current = _context_with(current, other)
        lines_above += block.count(b"\n")
    if table is not None:
        yield table.events()


def _row_ranges(block: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield where rows begin and end, and the line below them that is no row (empty at the end of the block)."""
    digits = block.replace(NONE, AS_NUMBER)
    since = 0
    while other := NO_NUMBER.search(digits, since):
        until = digits.rfind(b"\n", since, other.start()) + 1 or since
        end = block.find(b"\n", until) + 1 or len(block)
        yield since, until, block[until:end]
        since = end
    yield since, len(block), b""


def _context_with(current: OutputContext, line: bytes) -> OutputContext:
    """Return the context of the next output, updated by a line above it."""
    if match := COMMAND.search(line):
        current = replace(current, command=_text(match[0]))
    if match := TIME.search(line):
        current = replace(current, at=round(datetime.fromisoformat(match[1].decode()).timestamp() * 1000))
    return current


def _add(table: _Table, rows: bytes, lines_above: int) -> None:
    """Add rows; the first of them stands below `lines_above` lines."""
    numbers = np.fromstring(rows.replace(NONE, AS_NUMBER).decode("ascii"), np.int64, sep=" ") if rows.strip() else None
    if numbers is not None:
        needed = numbers[: len(numbers) // COLUMN_COUNT * COLUMN_COUNT].reshape(-1, COLUMN_COUNT)[:, USED_COLUMNS]
        table.rows.append(needed)
        table.oldest = min(table.oldest, _oldest_single(needed, rows, lines_above))


def _oldest_single(table: NDArray[np.int64], rows: bytes, lines_above: int) -> _QuotedRow:
    """Return the row that shows a leak best: the id that sent one record, the longest ago."""
    if not len(table):
        return NO_ROW
    _, sequence, timestamp = table.T
    times = np.where(sequence == 0, timestamp, np.iinfo(np.int64).max - 1)
    row = int(times.argmin())
    return _QuotedRow(int(times[row]), lines_above + row + 1, _text(rows.split(b"\n", row + 1)[row]))


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r\n")


SOURCE = Source(
    "kafka_producers",
    "kafka-transactions describe-producers",
    "state",
    parser=OutputParser(
        matches=head_line_matches(r"ProducerId\s+ProducerEpoch\s+LatestCoordinatorEpoch"),
        parse=_parse,
        event_names=frozenset({v.PRODUCERS_COUNTED}),
    ),
)
