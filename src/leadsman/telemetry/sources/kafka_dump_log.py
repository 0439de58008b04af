"""`kafka-dump-log` of producer snapshots: the producer ids that a partition's directory holds."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.bulk import matches
from leadsman.telemetry.reading import About, Facts, Reading, fact, told_by
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Since 3.x lastTimestamp stands before firstSequence as well.
LINE = re.compile(
    r"^(?:Dumping (?P<path>[^\n]+)|producerId: \d+ producerEpoch: (-?\d+) [^\n]*?firstSequence: (-?\d+) "
    r"lastSequence: (-?\d+) [^\n]*? timestamp: (-?\d+)$)",
    re.MULTILINE,
)
PARTITION = re.compile(r"(?:^|/)([\w.\-]+)-(\d+)/(\d{20})\.snapshot\s*$")


class _File:
    """What was counted in one dumped file."""

    def __init__(self, path: str, line: int, text: str) -> None:
        self.path, self.line, self.text = path, line, text
        self.count = self.single = 0
        self.oldest: int | None = None
        self.newest: int | None = None

    def saw(self, epoch: str, first: str, last: str, timestamp: str) -> None:
        """Count one producer. It sent one batch if that one begins with its first sequence, and its epoch is new."""
        self.count += 1
        self.single += epoch == "0" and first == "0" and last >= "0"
        at = int(timestamp)
        if at >= 0:
            self.oldest = at if self.oldest is None else min(self.oldest, at)
            self.newest = at if self.newest is None else max(self.newest, at)

    def told(self) -> Facts:
        found = PARTITION.search(self.path)
        return fact(
            v.PRODUCERS_COUNTED,
            self.line,
            self.text,
            float(self.count),
            via="dump_log",
            topic=found[1] if found else None,
            partition=found[2] if found else None,
            offset=str(int(found[3])) if found else None,
            single=str(self.single),
            oldest=_iso(self.oldest),
            newest=_iso(self.newest),
        )


def _facts(blocks: Iterable[bytes], about: About) -> Iterator[Facts]:  # noqa: ARG001 - a reading's signature
    file: _File | None = None
    for found in matches(LINE, blocks):
        for index, (path, *numbers) in enumerate(zip(*found.groups, strict=True)):
            if path is not None:
                if file is not None:
                    yield file.told()
                file = _File(path, int(found.lines[index]), found.texts[index])
            elif file is not None:
                file.saw(*map(str, numbers))
    if file is not None:
        yield file.told()


def _iso(ms: int | None) -> str | None:
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")


SOURCE = Source(
    "kafka_dump_log",
    "kafka-dump-log",
    "state",
    reading=Reading(tells=told_by(r"Dumping [^\n]+\.snapshot"), facts=_facts, reports=frozenset({v.PRODUCERS_COUNTED})),
)
