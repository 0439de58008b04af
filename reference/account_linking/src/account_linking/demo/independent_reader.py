"""Reads tables and topics for the comparison with the ledger: by delta-rs and a plain consumer, without Spark."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, TopicPartition
from deltalake import DeltaTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

READ_TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRecord:
    """One Kafka record. `timestamp_ms` is the record's own time."""

    topic: str
    partition: int
    offset: int
    key: str
    value: bytes
    headers: Mapping[str, str]
    timestamp_ms: int

    @property
    def position(self) -> tuple[str, int, int]:
        """Where the record stands."""
        return self.topic, self.partition, self.offset


class IncompleteTopic(Exception):
    """A topic could not be read up to its end within the time."""


def read_table(root: str, table: str) -> list[dict[str, Any]]:
    """Return all rows of a table."""
    rows: list[dict[str, Any]] = DeltaTable(f"{root}/{table}").to_pyarrow_table().to_pylist()
    return rows


def read_topic(bootstrap: str, topic: str) -> list[TopicRecord]:
    """Return all records of a topic, [] if it does not exist."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "balance", "enable.auto.commit": False, "log_level": 0}
    )
    try:
        partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
        return [each for number in sorted(partitions) for each in _read_partition(consumer, topic, number)]
    finally:
        consumer.close()


def _read_partition(consumer: Consumer, topic: str, partition: int) -> Iterator[TopicRecord]:
    first, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)
    start = TopicPartition(topic, partition, first)
    consumer.assign([start])
    deadline = time.monotonic() + READ_TIMEOUT_SECONDS
    at = first
    while at < end:
        if time.monotonic() > deadline:
            raise IncompleteTopic(
                f"{topic}-{partition} was read up to offset {at} of {end} in {READ_TIMEOUT_SECONDS:g} s."
            )
        for message in consumer.consume(min(1000, end - at), 1.0):  # of more it would wait for a second
            if message.error() is None:
                at = int(message.offset() or 0) + 1
                yield _record(message)


def _record(message: Any) -> TopicRecord:  # noqa: ANN401 - confluent_kafka has no types
    return TopicRecord(
        topic=message.topic(),
        partition=message.partition(),
        offset=message.offset(),
        key=(message.key() or b"").decode(errors="replace"),
        value=message.value() or b"",
        headers={name: value.decode(errors="replace") for name, value in message.headers() or ()},
        timestamp_ms=message.timestamp()[1],
    )
