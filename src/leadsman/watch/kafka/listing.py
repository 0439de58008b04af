"""Lists how far topics can be read in the next trigger: bounded by bytes, over all partitions that are behind."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leadsman.watch.file_listing import MAX_TRIGGER_BYTES
from leadsman.watch.kafka.cluster_offsets import ClusterOffsets, ClusterUnavailable, TopicOffsets
from leadsman.watch.kafka.topic_totals import TopicTotals
from leadsman.watch.messages import SourceMessages, write_lag
from leadsman.watch.positions import PartitionPosition, TopicPosition
from leadsman.words import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from leadsman.watch.positions import Position, Positions

FIRST_RECORD_BYTES = 4 << 10
"""The size of a record as long as none was read."""

TRUNCATED_AFTER_SECONDS = 60.0
"""A partition that ends before what was read: a new leader learns the end within seconds, else records were lost."""

EARLIEST, LATEST = "earliest", "latest"


@dataclass(frozen=True, slots=True)
class TopicsRequest:
    """Which topics to read, and from where at the first start: `earliest`, `latest`, or so long ago.

    `folder` is the state's; `settings_file` holds librdkafka's settings.
    """

    bootstrap: str
    topics: Sequence[str]
    settings_file: str
    folder: str
    start: str | timedelta = EARLIEST
    max_bytes: int = MAX_TRIGGER_BYTES

    @property
    def capture(self) -> str:
        """The name under which the topics are diagnosed together."""
        return f"kafka:{self.bootstrap}"

    @property
    def sources_folder(self) -> Path:
        """The folder of what sources report."""
        return Path(self.folder, "sources")


@dataclass(slots=True)
class KafkaListing:
    """The topics, as they grow, get partitions, lose old records, and come and go."""

    request: TopicsRequest
    clock: Callable[[], float] = time.time
    _cluster: ClusterOffsets | None = None
    _unreachable_since: float | None = None
    _problems: dict[str, str] = field(default_factory=dict)
    _truncated: dict[tuple[str, int], float] = field(default_factory=dict)

    def positions(self, earlier: Positions, query_offset: int) -> Positions:
        """Return how far each topic can be read in a query offset, after `earlier`."""
        positions = dict(earlier)
        try:
            topics = self._open().topics(self.request.topics)
            planned = {each.name: self._current_position(each, earlier, query_offset) for each in topics}
        except ClusterUnavailable as error:
            self._note_unreachable(str(error))
            return positions
        self._note_back()
        ends = {
            each.name: {partition: offsets.last for partition, offsets in each.partitions.items()} for each in topics
        }
        for position in self._within_budget(planned, ends, query_offset):
            if _is_news(position, earlier.get(position.key)):
                positions[position.key] = position
        self._write_lag(positions, ends)
        return positions

    def _open(self) -> ClusterOffsets:
        if self._cluster is None:
            self._cluster = ClusterOffsets(self.request.bootstrap, self.request.settings_file)
        return self._cluster

    def _current_position(self, topic: TopicOffsets, earlier: Positions, query_offset: int) -> TopicPosition:
        """Return a topic's position with `begin` where it is to be read on, and nothing to read yet."""
        known = earlier.get((self.request.capture, topic.name))
        assert known is None or isinstance(known, TopicPosition)
        previous = known or TopicPosition(self.request.capture, topic.name, "", (), query_offset)
        if topic.error:
            self._note_problem(topic.name, _why_not_read(topic, self.request.bootstrap))
            return replace(previous, partitions=tuple(replace(each, begin=each.end) for each in previous.partitions))
        if self._problems.pop(topic.name, None):
            self._report(f"The topic {topic.name} can be read now.")
        if known is None:
            return replace(previous, id=topic.id, partitions=tuple(self._starts(topic)))
        if previous.id and previous.id != topic.id:
            self._report(f"The topic {topic.name} was deleted and made again. It is read from its beginning.")
            previous = replace(previous, partitions=())
        read = {each.number: each for each in previous.partitions}
        now = {
            each: self._go_on(topic, each, read[each]) if each in read else _begin(each, offsets.first)
            for each, offsets in topic.partitions.items()
        }
        left = (replace(each, begin=each.end) for each in previous.partitions if each.number not in now)
        return replace(previous, id=topic.id, partitions=(*now.values(), *left))

    def _starts(self, topic: TopicOffsets) -> Iterator[PartitionPosition]:
        """Yield the positions from which a topic is read that no earlier trigger has read."""
        start = self.request.start
        at: Mapping[tuple[str, int], int] = {}
        if isinstance(start, timedelta):
            since = round((self.clock() - start.total_seconds()) * 1000)
            at = self._open().offsets_at([(topic.name, each) for each in topic.partitions], since)
        for partition, offsets in topic.partitions.items():
            found = at.get((topic.name, partition), -1)
            yield _begin(partition, offsets.first if start == EARLIEST else found if found >= 0 else offsets.last)

    def _go_on(self, topic: TopicOffsets, partition: int, previous: PartitionPosition) -> PartitionPosition:
        offsets = topic.partitions[partition]
        if previous.end < offsets.first:
            lost = offsets.first - previous.end
            self._report(
                f"{count(lost, 'record was|records were')} deleted from {topic.name}/{partition} before they were "
                f"read: offsets {previous.end} to {offsets.first - 1}. Its retention is shorter than the watch is "
                "behind."
            )
            return PartitionPosition(partition, offsets.first, offsets.first, previous.lost + lost)
        if previous.end <= offsets.last:
            self._truncated.pop((topic.name, partition), None)
            return replace(previous, begin=previous.end)
        since = self._truncated.setdefault((topic.name, partition), self.clock())
        if self.clock() - since < TRUNCATED_AFTER_SECONDS:
            return replace(previous, begin=previous.end)
        self._report(
            f"{topic.name}/{partition} ends at offset {offsets.last}, before what was read up to {previous.end}: its "
            f"new leader lacks records. It is read on from {offsets.last}."
        )
        return replace(previous, begin=offsets.last, end=offsets.last)

    def _within_budget(
        self, planned: Mapping[str, TopicPosition], ends: Mapping[str, Mapping[int, int]], query_offset: int
    ) -> Iterator[TopicPosition]:
        """Yield the topics with something to read, or with another position, each partition up to its share."""
        behind = {
            name: [max(0, ends[name].get(each.number, 0) - each.end) for each in position.partitions]
            for name, position in planned.items()
        }
        sizes = {name: sum(each) * self._record_bytes(name) for name, each in behind.items()}
        share = min(1.0, self.request.max_bytes / max(1, sum(sizes.values())))
        for name, position in planned.items():
            partitions = tuple(
                _up_to_share(each, left, share) for each, left in zip(position.partitions, behind[name], strict=True)
            )
            yield replace(position, partitions=partitions, changed_in=query_offset)

    def _record_bytes(self, topic: str) -> int:
        totals = TopicTotals.read(self.request.sources_folder, topic)
        return max(1, totals.last_bytes // totals.last_records) if totals.last_records else FIRST_RECORD_BYTES

    def _write_lag(self, positions: Positions, ends: Mapping[str, Mapping[int, int]]) -> None:
        topics: dict[str, Any] = {}
        for name in self.request.topics:
            position = positions.get((self.request.capture, name))
            if isinstance(position, TopicPosition):
                totals = TopicTotals.read(self.request.sources_folder, name)
                topics[name] = {
                    "partitions": {str(each.number): _lag(each, ends[name]) for each in position.partitions},
                    "set_aside": totals.set_aside,
                    "last_record": totals.last_record,
                }
        self._write({"is_unreachable": False, "topics": topics})

    def _write(self, document: Mapping[str, Any]) -> None:
        at = datetime.fromtimestamp(self.clock(), UTC).isoformat(timespec="milliseconds")
        write_lag(self.request.sources_folder, {"at": at, "bootstrap": self.request.bootstrap, **document})

    def _note_unreachable(self, why: str) -> None:
        if self._unreachable_since is None:
            self._unreachable_since = self.clock()
            self._report(f"Kafka at {self.request.bootstrap} does not answer: {why}. Waiting for it.")
        self._write({"is_unreachable": True, "why": why, "topics": {}})

    def _note_back(self) -> None:
        if self._unreachable_since is not None:
            seconds = round(self.clock() - self._unreachable_since)
            self._report(f"Kafka at {self.request.bootstrap} answers again, after {seconds} s.")
            self._unreachable_since = None

    def _note_problem(self, name: str, text: str) -> None:
        if self._problems.get(name) != text:
            self._problems[name] = text
            self._report(text)

    def _report(self, text: str) -> None:
        SourceMessages(self.request.sources_folder).report(text)


def _is_news(position: TopicPosition, previous: Position | None) -> bool:
    """Whether there is something to read, or something else to remember."""
    if not isinstance(previous, TopicPosition) or previous.id != position.id:
        return True
    return {(each.number, each.end, each.lost) for each in previous.partitions} != {
        (each.number, each.end, each.lost) for each in position.partitions
    }


def _up_to_share(partition: PartitionPosition, left: int, share: float) -> PartitionPosition:
    taken = left if share == 1 else max(min(left, 1), int(left * share))
    return replace(partition, end=partition.end + taken, is_behind=taken < left)


def _begin(partition: int, offset: int) -> PartitionPosition:
    return PartitionPosition(partition, offset, offset)


def _why_not_read(topic: TopicOffsets, bootstrap: str) -> str:
    if "Unknown topic" in topic.error:
        return f"There is no topic {topic.name} on {bootstrap}. It is read as soon as there is one."
    return f"The topic {topic.name} cannot be read: {topic.error}. Trying again."


def _lag(position: PartitionPosition, ends: Mapping[int, int]) -> dict[str, int]:
    """Return how far a partition is planned to be read, and how many offsets lie behind that."""
    return {
        "offset": position.end,
        "lag": max(0, ends.get(position.number, position.end) - position.end),
        "lost": position.lost,
    }
