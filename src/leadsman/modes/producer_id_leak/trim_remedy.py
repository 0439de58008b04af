"""Brokers before 2.4: trimming topics frees the producer ids.

Deleting a topic frees ids on every version since 2.4; 2.3.1 kept them for longer than a minute (page.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leadsman.collect.kafka import groups, topics
from leadsman.modes.producer_id_leak.census import count_on_heaps
from leadsman.remedies.remedy import Refused, RemedyPlan, RemedyStatus, Step
from leadsman.words import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from leadsman.collect.kafka.cluster_address import ClusterAddress
    from leadsman.collect.kafka.connection import ClusterAdmin

EARLIEST, LATEST = -2, -1
"""Timestamps with which ListOffsets returns the first and the next offset."""

WITHIN = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Range:
    """The offsets of one partition, from its first record to its end."""

    topic: str
    partition: int
    first: int
    end: int

    @property
    def records(self) -> int:
        """The number of offsets; a compacted or transactional log holds fewer records."""
        return self.end - self.first


def partition_ranges(cluster: ClusterAdmin, names: Sequence[str]) -> list[Range]:
    """Return the offsets of every partition of these topics; Refused for a topic that does not exist."""
    known = set(topics.topic_names(cluster, ()))
    if missing := [name for name in names if name not in known]:
        raise Refused(f"This cluster has no topic {', '.join(missing)}.")
    partitions = [
        (str(topic["name"]), int(each["partition_index"]))
        for topic in topics.describe_topics(cluster, names)
        for each in topic["partitions"]
    ]
    first, end = _offsets(cluster, partitions, EARLIEST), _offsets(cluster, partitions, LATEST)
    return [Range(*each, first[each], end[each]) for each in sorted(partitions)]


def _offsets(
    cluster: ClusterAdmin, partitions: Iterable[tuple[str, int]], timestamp: int
) -> dict[tuple[str, int], int]:
    from kafka import TopicPartition  # loaded only where it is used

    timestamps = {TopicPartition(*each): timestamp for each in partitions}
    offsets = cluster.request(lambda admin: admin.list_partition_offsets(timestamps))
    return {(each.topic, each.partition): int(found.offset) for each, found in offsets.items()}


def unread(cluster: ClusterAdmin, ranges_to_delete: Sequence[Range]) -> list[str]:
    """Return a line for each group that has not read all of these records."""
    lines = []
    for group in groups.list_groups(cluster):
        committed = {
            (each.topic, each.partition): commit.offset
            for each, commit in groups.committed_offsets(cluster, group).items()
        }
        lag = sum(_lag(each, committed) for each in ranges_to_delete)
        if lag:
            lines.append(f"  group {group.name} ({group.state}) has not read {count(lag, 'record records')} of them")
    return lines


def _lag(ranges_to_delete: Range, committed: Mapping[tuple[str, int], int]) -> int:
    at = committed.get((ranges_to_delete.topic, ranges_to_delete.partition), -1)
    return max(0, ranges_to_delete.end - max(at, ranges_to_delete.first)) if at >= 0 else 0


def trim(
    cluster: ClusterAdmin, where: ClusterAddress, *, names: Sequence[str], pids: Sequence[int], even_unread: bool
) -> RemedyPlan:
    """Return the plan: delete the present records of each partition, up to its present end."""
    ranges_to_delete = [each for each in partition_ranges(cluster, names) if each.records]
    if not ranges_to_delete:
        raise Refused(f"{', '.join(names)}: there are no records to trim.")
    lag = _refuse_unread(cluster, ranges_to_delete, even_unread=even_unread)
    total = sum(each.records for each in ranges_to_delete)
    return RemedyPlan(
        title=f"Trim {', '.join(names)}",
        why="Before Kafka 2.4 brokers drop a producer's id with the last record that it wrote.",
        steps=[_trimming(cluster, where, ranges_to_delete)],
        check=lambda: _status(cluster, names, ranges_to_delete, pids),
        details=[*_rows(ranges_to_delete, "would go"), *lag],
        warnings=[f"{count(total, 'record is|records are')} deleted permanently, for all consumers, on all replicas."],
        timeout=WITHIN,
        confirmation=names[0],
    )


def _refuse_unread(cluster: ClusterAdmin, ranges_to_delete: Sequence[Range], *, even_unread: bool) -> list[str]:
    lag = unread(cluster, ranges_to_delete)
    if lag and not even_unread:
        raise Refused(
            "\n".join(("Consumer groups have not read these records:", *lag, "To delete them anyway: --even-unread"))
        )
    return lag or ["  every group with committed offsets has read all records"]


def _rows(ranges_to_delete: Sequence[Range], what: str) -> list[str]:
    return [
        f"  {each.topic}-{each.partition}: {count(each.records, 'record records')} {what}, offsets {each.first} to "
        f"{each.end - 1}"
        for each in ranges_to_delete
    ]


def _trimming(cluster: ClusterAdmin, where: ClusterAddress, ranges_to_delete: Sequence[Range]) -> Step:
    def do() -> None:
        from kafka import TopicPartition  # loaded only where it is used

        ends = {TopicPartition(each.topic, each.partition): each.end for each in ranges_to_delete}
        cluster.change(lambda admin: admin.delete_records(ends))

    listed = ",".join(
        f'{{"topic":"{each.topic}","partition":{each.partition},"offset":{each.end}}}' for each in ranges_to_delete
    )
    offsets = f'printf \'{{"version":1,"partitions":[{listed}]}}\' > offsets.json'
    return Step(
        description=(
            f"Delete the records of {count(len(ranges_to_delete), 'partition partitions')} up to the ends shown"
        ),
        command=f"{offsets}; {where.tool('kafka-delete-records', '--offset-json-file', 'offsets.json')}",
        do=do,
    )


def _status(
    cluster: ClusterAdmin, names: Sequence[str], ranges_to_delete: Sequence[Range], pids: Sequence[int]
) -> RemedyStatus:
    """Return whether the records are deleted, and how many ids remain where a broker's heap can be read."""
    ends = {(each.topic, each.partition): each.end for each in ranges_to_delete}
    left = sum(
        max(0, ends.get((each.topic, each.partition), 0) - each.first) for each in partition_ranges(cluster, names)
    )
    description = f"{count(left, 'record records')} of these remain"
    if pids:
        description += (
            f", {count(count_on_heaps(pids), 'producer id|producer ids')} in the heaps of {len(pids)} brokers"
        )
    return RemedyStatus(is_cured=left == 0, description=description)


def delete(
    cluster: ClusterAdmin, where: ClusterAddress, *, name: str, count_ids: Callable[[], int | None], even_unread: bool
) -> RemedyPlan:
    """Return the plan: delete a topic, which frees its ids on every version since 2.4. `count_ids` may return None."""
    ranges_to_delete = partition_ranges(cluster, [name])
    lag = _refuse_unread(cluster, ranges_to_delete, even_unread=even_unread)
    ids_before = count_ids()
    return RemedyPlan(
        title=f"Delete the topic {name}",
        why="Deleting a topic frees its ids: since 2.4 after file.delete.delay.ms (1 min), before 2.4 later.",
        steps=[
            Step(
                description=f"Delete the topic {name}",
                command=where.tool("kafka-topics", "--delete", "--topic", name),
                do=lambda: cluster.change(lambda admin: admin.delete_topics([name])),
            )
        ],
        check=lambda: _delete_status(cluster, name, count_ids(), ids_before),
        details=[*_rows(ranges_to_delete, "would go"), *lag],
        warnings=[
            "The topic's records, settings and committed offsets are deleted permanently.",
            "Where auto.create.topics.enable is true, producers create the topic again with the broker's defaults.",
        ],
        timeout=WITHIN,
        confirmation=name,
    )


def _delete_status(cluster: ClusterAdmin, name: str, now: int | None, before: int | None) -> RemedyStatus:
    """Return whether the topic is deleted and brokers keep fewer ids: they delete a log some time after its topic."""
    is_deleted = name not in topics.topic_names(cluster, ())
    ids = "" if now is None else f", brokers keep {count(now, 'producer id|producer ids')}"
    freed = now is None or before is None or now < before or not before
    return RemedyStatus(
        is_cured=is_deleted and freed, description=f"the topic {name} {'is deleted' if is_deleted else 'exists'}{ids}"
    )


def cleanup_policy(cluster: ClusterAdmin, name: str) -> str:
    """Return a topic's cleanup.policy: records of a compacted topic cannot be trimmed."""
    from kafka.admin import ConfigResource  # loaded only where it is used

    found: Any = cluster.request(
        lambda admin: admin.describe_configs([ConfigResource("topic", name)], config_filter="all")
    )
    return str(found["topic"][name].get("cleanup.policy", {}).get("value", "delete"))
