"""Reads ranges of offsets of one topic, all partitions together, with gaps where records were compacted or aborted."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from leadsman.watch.kafka.client_settings import consumer_settings
from leadsman.words import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Report = Callable[[str], None]

MAX_POLLED_RECORDS = 10_000
"""Records that one call takes from the client."""

POLL_SECONDS = 0.1
"""The client is asked for as many records as are missing, and waits no longer where some offsets are gaps."""

STALLED_SECONDS = 5.0
"""After so long without a record, the broker is asked whether the offsets are still there."""

MAX_AHEAD_BYTES = 8 << 20
"""Bytes of records of a partition that are kept for a later range. A partition that is further ahead is paused."""


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """The offsets of a partition from `begin` to before `end`."""

    partition: int
    begin: int
    end: int


class TooLarge(Exception):
    """The records of the ranges take more memory than they may. Nothing of them was kept."""


@dataclass(slots=True)
class Progress:
    """The reading of some ranges: what was found, and which of them are not complete."""

    open: dict[int, OffsetRange]
    found: dict[int, list[Any]]
    bytes: int = 0
    last_found: float = field(default_factory=time.monotonic)


class TopicConsumer:
    """A consumer of one topic. Ranges that follow one another are read without seeking."""

    def __init__(self, bootstrap: str, topic: str, settings_file: str) -> None:
        from confluent_kafka import Consumer

        self._topic = topic
        self._bootstrap = bootstrap
        self._consumer = Consumer(consumer_settings(bootstrap, settings_file))
        self._next: dict[int, int] = {}
        """By partition: the offset up to which everything was taken from the client, or is known to be a gap."""
        self._ahead: defaultdict[int, list[Any]] = defaultdict(list)
        self._ahead_bytes: defaultdict[int, int] = defaultdict(int)
        self._paused: set[int] = set()

    def read(self, ranges: Iterable[OffsetRange], *, max_bytes: int, report: Report) -> dict[int, list[Any]]:
        """Return the records of these ranges by partition. Waits for a broker that is unavailable.

        Raises TooLarge where they have more than `max_bytes`. Offsets deleted meanwhile are reported, and left out.
        """
        requested = {each.partition: each for each in ranges if each.begin < each.end}
        self._seek(requested)
        progress = Progress(dict(requested), {partition: [] for partition in requested})
        for partition in requested:
            self._take_ahead(partition, progress)
        is_waiting = False
        while progress.open:
            for message in self._consumer.consume(min(MAX_POLLED_RECORDS, self._missing(progress)), POLL_SECONDS):
                self._take(message, progress, report)
            if progress.bytes > max_bytes:
                self._next.clear()
                raise TooLarge
            if time.monotonic() - progress.last_found > STALLED_SECONDS:
                is_waiting = self._check_missing(progress, report, is_waiting=is_waiting)
        if is_waiting:
            report(f"Kafka at {self._bootstrap} answers again.")
        return progress.found

    def _missing(self, progress: Progress) -> int:
        """Return how many records the open ranges have left at most, and 1 at least."""
        return max(
            1, sum(each.end - max(each.begin, self._next[partition]) for partition, each in progress.open.items())
        )

    def _seek(self, requested: Mapping[int, OffsetRange]) -> None:
        """Go to the beginnings of the ranges, unless the client is there."""
        from confluent_kafka import TopicPartition

        here = {
            partition: self._ahead[partition][0].offset() if self._ahead[partition] else at
            for partition, at in self._next.items()
        }
        if all(
            here.get(partition, -1) <= each.begin <= self._next.get(partition, -1)
            for partition, each in requested.items()
        ):
            self._resume(requested)
            return
        self._resume(list(self._paused))
        at = {**self._next, **{partition: each.begin for partition, each in requested.items()}}
        self._ahead.clear()
        self._ahead_bytes.clear()
        self._consumer.assign([TopicPartition(self._topic, partition, offset) for partition, offset in at.items()])
        self._next = at

    def _resume(self, numbers: Iterable[int]) -> None:
        from confluent_kafka import TopicPartition

        if resumed := self._paused.intersection(numbers):
            self._consumer.resume([TopicPartition(self._topic, partition) for partition in resumed])
            self._paused -= resumed

    def _take_ahead(self, partition: int, progress: Progress) -> None:
        """Take the records of a range that were read with an earlier range."""
        ahead, requested = self._ahead.pop(partition, []), progress.open[partition]
        own = [each for each in ahead if requested.begin <= each.offset() < requested.end]
        progress.found[partition] += own
        progress.bytes += sum(map(len, own))
        later = [each for each in ahead if each.offset() >= requested.end]
        self._ahead_bytes[partition] = sum(map(len, later))
        if later:
            self._ahead[partition] = later
        if later or self._next[partition] >= requested.end:
            del progress.open[partition]

    def _take(self, message: Any, progress: Progress, report: Report) -> None:  # noqa: ANN401 - the library has no types
        if message.error() is not None:
            self._take_error(message, progress, report)
            return
        partition, offset = message.partition(), message.offset()
        requested = progress.open.get(partition)
        self._next[partition] = offset + 1
        if requested is None or offset >= requested.end:
            self._keep_ahead(partition, message)
        else:
            progress.found[partition].append(message)
            progress.bytes += len(message)
            progress.last_found = time.monotonic()
        if requested is not None and offset >= requested.end - 1:
            del progress.open[partition]

    def _keep_ahead(self, partition: int, message: Any) -> None:  # noqa: ANN401 - the library has no types
        from confluent_kafka import TopicPartition

        self._ahead[partition].append(message)
        self._ahead_bytes[partition] += len(message)
        if self._ahead_bytes[partition] > MAX_AHEAD_BYTES and partition not in self._paused:
            self._consumer.pause([TopicPartition(self._topic, partition)])
            self._paused.add(partition)

    def _take_error(self, message: Any, progress: Progress, report: Report) -> None:  # noqa: ANN401 - the library has no types
        """Note the end of a partition, or that an offset is not there any more: librdkafka reports both as errors."""
        from confluent_kafka import KafkaError

        code, partition = message.error().code(), message.partition()
        if code == KafkaError._PARTITION_EOF:  # noqa: SLF001 - the library's name
            self._next[partition] = max(self._next.get(partition, 0), message.offset())
            self._close_where_read(partition, progress)
        elif code in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE) and partition in progress.open:  # noqa: SLF001 - the same
            self._skip_deleted(partition, progress, report)

    def _close_where_read(self, partition: int, progress: Progress) -> None:
        if partition in progress.open and self._next[partition] >= progress.open[partition].end:
            del progress.open[partition]

    def _check_missing(self, progress: Progress, report: Report, *, is_waiting: bool) -> bool:
        """Ask the broker for the offsets that do not arrive. Return whether the broker is unavailable."""
        from confluent_kafka import KafkaException

        progress.last_found = time.monotonic()
        try:
            for partition in list(progress.open):
                self._skip_deleted(partition, progress, report)
        except KafkaException as error:
            if not is_waiting:
                report(f"Kafka at {self._bootstrap} does not answer: {error.args[0].str()}. Waiting for it.")
            return True
        return is_waiting

    def _skip_deleted(self, partition: int, progress: Progress, report: Report) -> None:
        """Leave out offsets that a partition does not have any more. Raises KafkaException where no broker answers."""
        from confluent_kafka import KafkaException, TopicPartition

        at, end = self._next[partition], progress.open[partition].end
        try:
            low, high = self._consumer.get_watermark_offsets(
                TopicPartition(self._topic, partition), timeout=STALLED_SECONDS
            )
        except KafkaException as error:
            if error.args[0].code() not in _unknown_partition_codes():
                raise
            low, high = end, -1
        if high < end or low >= end:
            self._report_lost(partition, at, end, report)
            del progress.open[partition]
            self._next.pop(partition)
            return
        if low > at:
            self._report_lost(partition, at, low, report)
        self._next[partition] = max(at, low)
        self._fetch_anew(partition)

    def _fetch_anew(self, partition: int) -> None:
        """Read a partition on from the next offset. After an error librdkafka fetches nothing, and refuses to seek."""
        from confluent_kafka import TopicPartition

        self._consumer.incremental_unassign([TopicPartition(self._topic, partition)])
        self._consumer.incremental_assign([TopicPartition(self._topic, partition, self._next[partition])])

    def _report_lost(self, partition: int, since: int, until: int, report: Report) -> None:
        report(
            f"{count(until - since, 'record was|records were')} deleted from {self._topic}/{partition} while they were "
            f"read: offsets {since} to {until - 1}."
        )

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()


def _unknown_partition_codes() -> tuple[int, ...]:
    """Return the errors that say that there is no such topic or partition."""
    from confluent_kafka import KafkaError

    return KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC  # noqa: SLF001 - the library's names


@lru_cache(maxsize=64)
def consumer_of(bootstrap: str, topic: str, settings_file: str) -> TopicConsumer:
    """Return the consumer of a topic that this process keeps open from one trigger to the next."""
    return TopicConsumer(bootstrap, topic, settings_file)


def split_ranges(ranges: Sequence[OffsetRange], parts: int) -> list[list[OffsetRange]]:
    """Split ranges into so many parts, each with its share of every partition."""
    return [
        [
            OffsetRange(each.partition, each.begin + size * part // parts, each.begin + size * (part + 1) // parts)
            for each in ranges
            for size in (each.end - each.begin,)
        ]
        for part in range(parts)
    ]
