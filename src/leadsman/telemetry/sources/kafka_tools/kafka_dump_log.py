"""`kafka-dump-log` of producer snapshots: the producer ids that a partition's directory holds."""

from __future__ import annotations

import re
import sys
from array import array
from typing import TYPE_CHECKING

import numpy as np

from leadsman import vocabulary as v
from leadsman.telemetry.outputs.block_matches import find_matches
from leadsman.telemetry.outputs.parser import EventColumns, OutputContext, OutputParser, head_line_matches, single_event
from leadsman.telemetry.producer_state.summary import summarize_producer_ids
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Since 3.x lastTimestamp stands before firstSequence as well.
LINE = re.compile(
    r"^(?:Dumping (?P<path>[^\n]+)|producerId: \d+ producerEpoch: (-?\d+) coordinatorEpoch: (-?\d+) [^\n]*?"
    r"firstSequence: (-?\d+) lastSequence: (-?\d+) [^\n]*? timestamp: (-?\d+)$)",
    re.MULTILINE,
)
COLUMNS = 5
"""Numbers that are read of each producer id."""

PARTITION = re.compile(r"(?:^|/)([\w.\-]+)-(\d+)/(\d{20})\.snapshot\s*$")


class _SnapshotDump:
    """One dumped snapshot: the epoch, coordinator epoch, first and last sequence, and time of each producer id."""

    def __init__(self, path: str, line: int, text: str) -> None:
        self.path = path
        self.rows = array("q")
        self._quoted = (sys.maxsize, line, text)

    def add(self, numbers: Sequence[int], line: int, text: str) -> None:
        """Add an id. The quoted one is the id that sent one batch, the longest ago."""
        self.rows.extend(numbers)
        epoch, _, first, _, at = numbers
        if epoch == 0 and first == 0 and at < self._quoted[0]:
            self._quoted = (at, line, text)

    def events(self) -> EventColumns:
        """Return the count of ids. An id sent one batch if that begins with sequence 0, in epoch 0."""
        epoch, coordinator, first, last, timestamp = np.array(self.rows, np.int64).reshape(-1, COLUMNS).T
        first_batch = np.where((epoch == 0) & (first == 0), last, -1)
        value, labels = summarize_producer_ids(last, timestamp, offset_delta=first_batch, coordinator_epoch=coordinator)
        match = PARTITION.search(self.path)
        partition = {"topic": match[1], "partition": match[2], "offset": str(int(match[3]))} if match else {}
        _, line, text = self._quoted
        return single_event(v.PRODUCERS_COUNTED, line, text, value, via="dump_log", **partition, **labels)


def _parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:  # noqa: ARG001 - a parser's signature
    file: _SnapshotDump | None = None
    for matches in find_matches(LINE, blocks):
        for index, (path, *numbers) in enumerate(zip(*matches.groups, strict=True)):
            if path is not None:
                if file is not None:
                    yield file.events()
                file = _SnapshotDump(path, int(matches.lines[index]), matches.texts[index])
            elif file is not None:
                file.add([int(str(each)) for each in numbers], int(matches.lines[index]), matches.texts[index])
    if file is not None:
        yield file.events()


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
