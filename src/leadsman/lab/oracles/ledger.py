"""The oracle: the programs' delivery reports, compared with the records that the topic holds.

It reads no log and shares nothing with a detector, so that an experiment and its diagnosis cannot merely agree.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.model import RECORD_HARMS
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LATE_AFTER = timedelta(seconds=1.5)
"""An ack on loopback takes 3 ms; on a machine with many times more work than cores some take half a second."""

STALLED_AFTER = timedelta(seconds=10)
"""Longer than any retry of the lab's programs: a program waits for a timeout."""

READ_TIMEOUT = timedelta(seconds=60)
POLL_SECONDS = 1.0


DELIVERED = "ok"
"""The result that a worker reports for an acknowledged record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryReport:
    """What a program reported about one record. `value` is unique in the experiment.

    `result` is "ok", the error's message, or "" if no report came. `latency` is from send to report. `is_warm_up` marks
    the first records: they can be lost, but not late, as they include connecting and class loading.
    """

    worker: str
    value: str
    result: str
    latency: timedelta
    is_warm_up: bool = False

    @property
    def acknowledged(self) -> bool:
        """Whether the broker acknowledged the record."""
        return self.result == DELIVERED


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The harm by kind, as the values of the records concerned; a value can be in several kinds."""

    sent: int
    acknowledged: int
    stored: int
    lost: tuple[str, ...]
    duplicated: tuple[str, ...]
    delayed: tuple[str, ...]
    stalled: tuple[str, ...]
    refused_but_stored: tuple[str, ...]
    slowest: timedelta

    @property
    def harm(self) -> dict[str, int]:
        """How many records suffered each harm; every harm is named, also with 0."""
        return {harm.value: len(getattr(self, harm.value)) for harm in RECORD_HARMS}

    @property
    def is_harmless(self) -> bool:
        """Whether nothing was lost, duplicated, delayed or stalled."""
        return not any(self.harm.values())

    def harm_by_worker(self) -> dict[str, dict[str, int]]:
        """Count the same per worker, for workers with any."""
        counted: dict[str, Counter[str]] = {}
        for harm in RECORD_HARMS:
            for value in getattr(self, harm.value):
                counted.setdefault(value.rpartition(":")[0], Counter())[harm.value] += 1
        return {worker: dict(counts) for worker, counts in sorted(counted.items())}


def build_ledger(
    reports: Sequence[DeliveryReport],
    stored: Sequence[str],
    *,
    late_after: timedelta = LATE_AFTER,
    stalled_after: timedelta = STALLED_AFTER,
) -> Ledger:
    """Compare. Lost is a record that the topic does not hold: refused, unanswered or (worst) acknowledged.

    Delayed and stalled count stored records only: a lost one was not late.
    """
    counts = Counter(stored)
    stored_reports = [report for report in reports if counts[report.value]]
    timed = [report for report in stored_reports if not report.is_warm_up]
    return Ledger(
        sent=len(reports),
        acknowledged=sum(report.acknowledged for report in reports),
        stored=len(stored),
        lost=tuple(report.value for report in reports if not counts[report.value]),
        duplicated=tuple(value for value, count in counts.items() if count > 1),
        delayed=tuple(report.value for report in timed if late_after < report.latency <= stalled_after),
        stalled=tuple(report.value for report in timed if report.latency > stalled_after),
        refused_but_stored=tuple(report.value for report in stored_reports if not report.acknowledged),
        slowest=max((report.latency for report in reports if not report.is_warm_up), default=timedelta(0)),
    )


def read_topic(bootstrap: str, topic: str) -> list[str]:
    """Return every value that a topic holds now, partition by partition."""
    from confluent_kafka import Consumer, TopicPartition

    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "leadsman-ledger",
        "enable.auto.commit": False,
        "log_level": 0,
    }
    consumer = Consumer(settings)
    try:
        what = f"metadata of {topic}"
        partitions = wait_for(lambda: _partitions(consumer, topic), timeout=READ_TIMEOUT, what=what, error=LabError)
        ends = {p: _end(consumer, TopicPartition(topic, p)) for p in partitions or ()}
        consumer.assign([TopicPartition(topic, p, 0) for p, end in ends.items() if end])
        return _read(consumer, ends)
    finally:
        consumer.close()


def _partitions(consumer: object, topic: str) -> list[int] | None:
    """Return the partitions; None where the request went to a broker that an experiment has killed."""
    from confluent_kafka import KafkaException

    try:
        metadata = consumer.list_topics(topic, timeout=POLL_SECONDS * 10)  # type: ignore[attr-defined]
    except KafkaException:
        return None
    return list(metadata.topics[topic].partitions)


def _end(consumer: object, partition: object) -> int:
    _, end = consumer.get_watermark_offsets(partition, timeout=READ_TIMEOUT.total_seconds())  # type: ignore[attr-defined]
    return int(end)


def _read(consumer: object, ends: Mapping[int, int]) -> list[str]:
    """Poll until every partition's end is reached. Offsets of transaction markers yield no record."""
    values: list[str] = []
    deadline = time.monotonic() + READ_TIMEOUT.total_seconds()
    while not _at_ends(consumer, ends):
        if time.monotonic() > deadline:
            raise LabError(f"Read {len(values)} records back of at most {sum(ends.values())} and then no more came.")
        # A consumer returns a batch when it is full or the timeout ends: request no more than there is.
        values += _values(consumer.consume(max(1, sum(ends.values()) - len(values)), timeout=POLL_SECONDS))  # type: ignore[attr-defined]
    return values


def _at_ends(consumer: object, ends: Mapping[int, int]) -> bool:
    positions = consumer.position(consumer.assignment())  # type: ignore[attr-defined]
    return all(each.offset >= ends[each.partition] for each in positions)


def _values(batch: Iterable[object]) -> list[str]:
    values = []
    for message in batch:
        if message.error():  # type: ignore[attr-defined]
            raise LabError(f"Could not read the topic back: {message.error()}")  # type: ignore[attr-defined]
        values.append(message.value().decode().rstrip())  # type: ignore[attr-defined]
    return values
