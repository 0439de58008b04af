"""`kafka-dump-log` of producer snapshots: the producer ids that a partition's directory holds."""

from __future__ import annotations

import re
import sys
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from leadsman import vocabulary as v
from leadsman.telemetry.outputs.parser import EventColumns, OutputContext, OutputParser, head_line_matches, single_event
from leadsman.telemetry.producer_state.summary import summarize_producer_ids
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

# Since 3.x lastTimestamp stands before firstSequence as well.
LINE = re.compile(
    r"^(?:Dumping ([^\n]+)|producerId: \d+ producerEpoch: (-?\d+) coordinatorEpoch: (-?\d+) "
    r"(?:currentTxnFirstOffset: \S+ (?:lastTimestamp: -?\d+ )?|[^\n]*?)firstSequence: (-?\d+) lastSequence: (-?\d+) "
    r"(?:lastOffset: -?\d+ offsetDelta: -?\d+|[^\n]*?) timestamp: (-?\d+)$)",
    re.MULTILINE,
)
COLUMNS = 5
"""Numbers that are read of each producer id."""

PARTITION = re.compile(r"(?:^|/)([\w.\-]+)-(\d+)/(\d{20})\.snapshot\s*$")


class _SnapshotDump:
    """One dumped snapshot: the epoch, coordinator epoch, first and last sequence, and time of each producer id."""

    def __init__(self, block: _BlockMatches, index: int) -> None:
        self.path = block.paths[index]
        self._columns: list[NDArray[np.int64]] = []
        self._quoted_at, self._quoted = sys.maxsize, block.place(index)

    def add(self, block: _BlockMatches, since: int, until: int) -> None:
        """Add the ids of these matches. Quoted is the id that sent one batch, the longest ago."""
        columns = block.numbers(since, until)
        self._columns.append(columns)
        epoch, _, first, _, at = columns
        at = np.where((epoch == 0) & (first == 0), at, sys.maxsize)
        oldest = int(at.argmin())
        if at[oldest] < self._quoted_at:
            self._quoted_at, self._quoted = int(at[oldest]), block.place(since + oldest)

    def events(self) -> EventColumns:
        """Return the count of ids. An id sent one batch if that begins with sequence 0, in epoch 0."""
        none = np.empty((COLUMNS, 0), np.int64)
        epoch, coordinator, first, last, timestamp = np.concatenate([none, *self._columns], axis=1)
        first_batch = np.where((epoch == 0) & (first == 0), last, -1)
        value, labels = summarize_producer_ids(last, timestamp, offset_delta=first_batch, coordinator_epoch=coordinator)
        match = PARTITION.search(self.path)
        partition = {"topic": match[1], "partition": match[2], "offset": str(int(match[3]))} if match else {}
        line, text = self._quoted
        return single_event(v.PRODUCERS_COUNTED, line, text, value, via="dump_log", **partition, **labels)


class _BlockMatches:
    """The matches of a block, column by column; where one stands is looked up when it is to be quoted."""

    def __init__(self, text: str, lines_above: int) -> None:
        self._text = text
        self._lines_above = lines_above
        found = LINE.findall(text)
        self.paths, *self._groups = zip(*found, strict=True) if found else ([], *([()] * COLUMNS))

    def place(self, index: int) -> tuple[int, str]:
        """Return the line and the text of a match."""
        match = self._matches[index]
        return self._lines_above + self._text.count("\n", 0, match.start()) + 1, match[0]

    def numbers(self, since: int, until: int) -> NDArray[np.int64]:
        """Return what these matches say of their ids: a row for each column."""
        return np.array([list(map(int, group[since:until])) for group in self._groups], np.int64)

    @cached_property
    def _matches(self) -> list[re.Match[str]]:
        return list(LINE.finditer(self._text))


def _parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:  # noqa: ARG001 - a parser's signature
    snapshot: _SnapshotDump | None = None
    lines_above = 0
    for each in blocks:
        block = _BlockMatches(each.decode("ascii", "replace"), lines_above)
        lines_above += each.count(b"\n")
        begins = [index for index, path in enumerate(block.paths) if path]
        for since, until in pairwise([-1, *begins, len(block.paths)]):
            if since >= 0:
                if snapshot is not None:
                    yield snapshot.events()
                snapshot = _SnapshotDump(block, since)
            if snapshot is not None and until > since + 1:
                snapshot.add(block, since + 1, until)
    if snapshot is not None:
        yield snapshot.events()


SOURCE = Source(
    "kafka_dump_log",
    "kafka-dump-log",
    "state",
    parser=OutputParser(
        matches=head_line_matches(r"Dumping [^\n]+\.snapshot"),
        parse=_parse,
        event_names=frozenset({v.PRODUCERS_COUNTED}),
    ),
)
