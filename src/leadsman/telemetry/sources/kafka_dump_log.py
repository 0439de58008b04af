"""`kafka-dump-log` of producer snapshots: the producer ids that a partition's directory holds."""

from __future__ import annotations

import re
import sys
from array import array
from typing import TYPE_CHECKING

import numpy as np

from leadsman import vocabulary as v
from leadsman.telemetry.bulk import matches
from leadsman.telemetry.census import summary
from leadsman.telemetry.reading import About, Facts, Reading, fact, told_by
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
"""Numbers of an id that are read."""

PARTITION = re.compile(r"(?:^|/)([\w.\-]+)-(\d+)/(\d{20})\.snapshot\s*$")


class _File:
    """What one dumped file holds: of each id its epoch, coordinator's epoch, first and last sequence, and time."""

    def __init__(self, path: str, line: int, text: str) -> None:
        self.path = path
        self.rows = array("q")
        self._quoted = (sys.maxsize, line, text)

    def add(self, numbers: Sequence[int], line: int, text: str) -> None:
        """Add an id. Quoted is the one that was silent for longest of those that sent a single batch."""
        self.rows.extend(numbers)
        epoch, _, first, _, at = numbers
        if epoch == 0 and first == 0 and at < self._quoted[0]:
            self._quoted = (at, line, text)

    def facts(self) -> Facts:
        """Return the count. An id is single if its last batch begins with its first sequence, and its epoch is new."""
        epoch, coordinator, first, last, timestamp = np.array(self.rows, np.int64).reshape(-1, COLUMNS).T
        began = np.where((epoch == 0) & (first == 0), last, -1)
        value, labels = summary(last, timestamp, offset_delta=began, coordinator_epoch=coordinator)
        found = PARTITION.search(self.path)
        place = {"topic": found[1], "partition": found[2], "offset": str(int(found[3]))} if found else {}
        _, line, text = self._quoted
        return fact(v.PRODUCERS_COUNTED, line, text, value, via="dump_log", **place, **labels)


def _facts(blocks: Iterable[bytes], about: About) -> Iterator[Facts]:  # noqa: ARG001 - a reading's signature
    file: _File | None = None
    for found in matches(LINE, blocks):
        for index, (path, *numbers) in enumerate(zip(*found.groups, strict=True)):
            if path is not None:
                if file is not None:
                    yield file.facts()
                file = _File(path, int(found.lines[index]), found.texts[index])
            elif file is not None:
                file.add([int(str(each)) for each in numbers], int(found.lines[index]), found.texts[index])
    if file is not None:
        yield file.facts()


SOURCE = Source(
    "kafka_dump_log",
    "kafka-dump-log",
    "state",
    reading=Reading(tells=told_by(r"Dumping [^\n]+\.snapshot"), facts=_facts, reports=frozenset({v.PRODUCERS_COUNTED})),
)
