"""The oracle: what programs were told about their records, against what the topic holds.

It reads no log and shares nothing with a detector, so that an experiment and its diagnosis cannot merely agree.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.model import OF_RECORDS
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LATE_AFTER = timedelta(seconds=1.5)
"""An ack on loopback takes 3 ms; on a machine with many times more work than cores some take half a second."""

STALLED_AFTER = timedelta(seconds=10)
"""Longer than any retry of the lab's programs: somebody waits for a timeout."""

READ_WITHIN = timedelta(seconds=60)
POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What one program was told about one record. `value` is unique in the experiment.

    `result` is "ok", the error's words, or "" if it was never answered. `took` is from send to answer. `first` marks
    the records of the warm-up: they can be lost, but not late, as they pay for connections and loading.
    """

    worker: str
    value: str
    result: str
    took: timedelta
    first: bool = False

    @property
    def acknowledged(self) -> bool:
        """Whether the program may believe that the record is stored."""
        return self.result == "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The judgement. The four harms are the values concerned; a value can be in several."""

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
        return {harm.value: len(getattr(self, harm.value)) for harm in OF_RECORDS}

    @property
    def harmless(self) -> bool:
        """Whether nothing was lost, duplicated, delayed or stalled."""
        return not any(self.harm.values())

    def harm_by_worker(self) -> dict[str, dict[str, int]]:
        """Count the same per worker, for workers with any."""
        counted: dict[str, Counter[str]] = {}
        for harm in OF_RECORDS:
            for value in getattr(self, harm.value):
                counted.setdefault(value.rpartition(":")[0], Counter())[harm.value] += 1
        return {worker: dict(counts) for worker, counts in sorted(counted.items())}


def judge(
    told: Sequence[Told],
    stored: Sequence[str],
    *,
    late_after: timedelta = LATE_AFTER,
    stalled_after: timedelta = STALLED_AFTER,
) -> Ledger:
    """Compare. Lost is what the topic does not hold, be it refused, unanswered or (worst) acknowledged.

    Delayed and stalled count stored records only: a lost one was not late.
    """
    counts = Counter(stored)
    there = [entry for entry in told if counts[entry.value]]
    timed = [entry for entry in there if not entry.first]
    return Ledger(
        sent=len(told),
        acknowledged=sum(entry.acknowledged for entry in told),
        stored=len(stored),
        lost=tuple(entry.value for entry in told if not counts[entry.value]),
        duplicated=tuple(value for value, count in counts.items() if count > 1),
        delayed=tuple(entry.value for entry in timed if late_after < entry.took <= stalled_after),
        stalled=tuple(entry.value for entry in timed if entry.took > stalled_after),
        refused_but_stored=tuple(entry.value for entry in there if not entry.acknowledged),
        slowest=max((entry.took for entry in told if not entry.first), default=timedelta(0)),
    )


def read_topic(bootstrap: str, topic: str) -> list[str]:
    """Return every value that a topic holds now, partition by partition."""
    from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415 (the lab's extra)

    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "leadsman-ledger",
        "enable.auto.commit": False,
        "log_level": 0,
    }
    consumer = Consumer(settings)
    try:
        asked = wait_for(
            lambda: _partitions(consumer, topic), within=READ_WITHIN, what=f"brokers to tell of {topic}", error=LabError
        )
        partitions = asked or ()
        ends = {p: _end(consumer, TopicPartition(topic, p)) for p in partitions}
        consumer.assign([TopicPartition(topic, p, 0) for p, end in ends.items() if end])
        return _read(consumer, ends)
    finally:
        consumer.close()


def _partitions(consumer: object, topic: str) -> list[int] | None:
    """Return the partitions; None where the broker that was asked is one that an experiment has killed."""
    from confluent_kafka import KafkaException  # noqa: PLC0415 (the lab's extra)

    try:
        told = consumer.list_topics(topic, timeout=POLL_SECONDS * 10)  # type: ignore[attr-defined]
    except KafkaException:
        return None
    return list(told.topics[topic].partitions)


def _end(consumer: object, partition: object) -> int:
    _, end = consumer.get_watermark_offsets(partition, timeout=READ_WITHIN.total_seconds())  # type: ignore[attr-defined]
    return int(end)


def _read(consumer: object, ends: Mapping[int, int]) -> list[str]:
    """Poll until every partition's end is reached. Of offsets that transactions took for themselves nothing comes."""
    values: list[str] = []
    deadline = time.monotonic() + READ_WITHIN.total_seconds()
    while not _at_ends(consumer, ends):
        if time.monotonic() > deadline:
            raise LabError(f"Read {len(values)} records back of at most {sum(ends.values())} and then no more came.")
        # A consumer hands over a batch when it is full or its time is up: ask for no more than there is.
        values += _values(consumer.consume(max(1, sum(ends.values()) - len(values)), timeout=POLL_SECONDS))  # type: ignore[attr-defined]
    return values


def _at_ends(consumer: object, ends: Mapping[int, int]) -> bool:
    places = consumer.position(consumer.assignment())  # type: ignore[attr-defined]
    return all(place.offset >= ends[place.partition] for place in places)


def _values(batch: Iterable[object]) -> list[str]:
    values = []
    for message in batch:
        if message.error():  # type: ignore[attr-defined]
            raise LabError(f"Could not read the topic back: {message.error()}")  # type: ignore[attr-defined]
        values.append(message.value().decode().rstrip())  # type: ignore[attr-defined]
    return values
