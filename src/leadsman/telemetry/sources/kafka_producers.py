"""`kafka-transactions describe-producers`: the producer ids that the leader of one partition holds.

The output does not say of which partition: the command does, which stands above a collected section.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from leadsman import vocabulary as v
from leadsman.telemetry.bulk import NEWLINE
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


def _facts(blocks: Iterable[bytes], about: About) -> Iterator[Facts]:
    """Read whole blocks: of ten million ids no ten million objects are made."""
    heading, above, text = 0, 0, ""
    tables: list[NDArray[np.int64]] = []
    for block in blocks:
        start = 0
        if not heading and (at := block.find(LAST_COLUMN)) >= 0:
            start = block.find(b"\n", at) + 1 or len(block)
            heading = above + block.count(b"\n", 0, at) + 1
            text = block[block.rfind(b"\n", 0, at) + 1 : start].decode("utf-8", "replace").rstrip("\r\n")
        if heading:
            tables.append(_table(block[start:])[:, NEEDED])
        above += int(np.count_nonzero(np.frombuffer(block, np.uint8) == NEWLINE))
    if heading:
        coordinator, sequence, timestamp = np.concatenate(tables).T
        value, labels = summary(sequence, timestamp, at=about.at, coordinator_epoch=coordinator)
        labels |= {"via": "describe_producers"}
        labels |= {name: told for name in ("topic", "partition") if (told := about.option(f"--{name}"))}
        yield fact(v.PRODUCERS_COUNTED, heading, text, value, broker=about.option("--broker-id"), **labels)


def _table(block: bytes) -> NDArray[np.int64]:
    """Return the rows up to the first line that is none, such as a complaint."""
    digits = block.replace(b"None", b"-1")
    if strange := NO_NUMBER.search(digits):
        digits = digits[: digits.rfind(b"\n", 0, strange.start()) + 1]
    numbers = np.fromstring(digits.decode("ascii"), np.int64, sep=" ") if digits.strip() else np.empty(0, np.int64)
    return numbers[: len(numbers) // WIDTH * WIDTH].reshape(-1, WIDTH)


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
