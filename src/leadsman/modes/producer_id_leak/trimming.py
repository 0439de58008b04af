"""Brokers before 2.4: trim topics, and the ids go with the records. Deleting a topic frees ids on every version."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leadsman.collect.kafka import groups, topics
from leadsman.modes.producer_id_leak.holding import on_heaps
from leadsman.remedies.remedy import Look, Plan, Refused, Step
from leadsman.words import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from leadsman.collect.kafka.connection import Cluster
    from leadsman.collect.kafka.opening import Address

EARLIEST, LATEST = -2, -1
"""Timestamps by which ListOffsets is asked for the first and the next offset."""

WITHIN = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Range:
    """What one partition holds: from its first record up to the next."""

    topic: str
    partition: int
    first: int
    end: int

    @property
    def records(self) -> int:
        """Offsets that it spans; a compacted or transactional log holds fewer records."""
        return self.end - self.first


def ranges(cluster: Cluster, names: Sequence[str]) -> list[Range]:
    """Return what every partition of these topics holds; Refused for a topic that is not there."""
    known = set(topics.named(cluster, ()))
    if missing := [name for name in names if name not in known]:
        raise Refused(f"No topic is called {', '.join(missing)} in this cluster.")
    partitions = [
        (str(topic["name"]), int(each["partition_index"]))
        for topic in topics.described(cluster, names)
        for each in topic["partitions"]
    ]
    first, end = _offsets(cluster, partitions, EARLIEST), _offsets(cluster, partitions, LATEST)
    return [Range(*each, first[each], end[each]) for each in sorted(partitions)]


def _offsets(cluster: Cluster, partitions: Iterable[tuple[str, int]], which: int) -> dict[tuple[str, int], int]:
    from kafka import TopicPartition  # noqa: PLC0415 - loaded only where it is used

    wanted = {TopicPartition(*each): which for each in partitions}
    told = cluster.ask(lambda admin: admin.list_partition_offsets(wanted))
    return {(each.topic, each.partition): int(found.offset) for each, found in told.items()}


def unread(cluster: Cluster, held: Sequence[Range]) -> list[str]:
    """Return a line for each group that has not read all of these records."""
    lines = []
    for group in groups.groups(cluster):
        committed = {
            (each.topic, each.partition): told.offset for each, told in groups.committed_by(cluster, group).items()
        }
        behind = sum(_behind(each, committed) for each in held)
        if behind:
            lines.append(f"  group {group.name} ({group.state}) has not read {count(behind, 'record records')} of them")
    return lines


def _behind(held: Range, committed: Mapping[tuple[str, int], int]) -> int:
    at = committed.get((held.topic, held.partition), -1)
    return max(0, held.end - max(at, held.first)) if at >= 0 else 0


def trim(cluster: Cluster, where: Address, *, names: Sequence[str], pids: Sequence[int], even_unread: bool) -> Plan:
    """Return the plan: delete the records that are there now, of each partition up to its present end."""
    held = [each for each in ranges(cluster, names) if each.records]
    if not held:
        raise Refused(f"{', '.join(names)}: no records are there to be trimmed.")
    behind = _refuse_unread(cluster, held, even_unread=even_unread)
    total = sum(each.records for each in held)
    return Plan(
        title=f"Trim {', '.join(names)}",
        why="Before Kafka 2.4 the ids of producers go with the last record that they wrote.",
        steps=[_trimming(cluster, where, held)],
        look=lambda: _look(cluster, names, held, pids),
        shows=[*_rows(held, "would go"), *behind],
        warnings=[f"{count(total, 'record is|records are')} deleted for good, for every reader, on every replica."],
        within=WITHIN,
        word=names[0],
    )


def _refuse_unread(cluster: Cluster, held: Sequence[Range], *, even_unread: bool) -> list[str]:
    behind = unread(cluster, held)
    if behind and not even_unread:
        raise Refused(
            "\n".join(("Records would be lost that somebody waits for:", *behind, "If that is meant: --even-unread"))
        )
    return behind or ["  every group that has committed here has read all of it"]


def _rows(held: Sequence[Range], what: str) -> list[str]:
    return [
        f"  {each.topic}-{each.partition}: {count(each.records, 'record records')} {what}, offsets {each.first} to "
        f"{each.end - 1}"
        for each in held
    ]


def _trimming(cluster: Cluster, where: Address, held: Sequence[Range]) -> Step:
    def do() -> None:
        from kafka import TopicPartition  # noqa: PLC0415 - loaded only where it is used

        ends = {TopicPartition(each.topic, each.partition): each.end for each in held}
        cluster.ask(lambda admin: admin.delete_records(ends))

    listed = ",".join(f'{{"topic":"{each.topic}","partition":{each.partition},"offset":{each.end}}}' for each in held)
    offsets = f'printf \'{{"version":1,"partitions":[{listed}]}}\' > offsets.json'
    return Step(
        says=f"Delete the records of {count(len(held), 'partition partitions')} up to the ends shown",
        command=f"{offsets}; {where.tool('kafka-delete-records', '--offset-json-file', 'offsets.json')}",
        do=do,
    )


def _look(cluster: Cluster, names: Sequence[str], held: Sequence[Range], pids: Sequence[int]) -> Look:
    """Look whether the records are gone; and how many ids are left, where a broker's heap can be seen."""
    ends = {(each.topic, each.partition): each.end for each in held}
    left = sum(max(0, ends.get((each.topic, each.partition), 0) - each.first) for each in ranges(cluster, names))
    says = f"{count(left, 'record records')} of these are there"
    if pids:
        says += f", {count(on_heaps(pids), 'producer id|producer ids')} on the heaps of {len(pids)} brokers"
    return Look(cured=left == 0, says=says)


def delete(
    cluster: Cluster, where: Address, *, name: str, count_ids: Callable[[], int | None], even_unread: bool
) -> Plan:
    """Return the plan: delete a topic; its ids are freed on every version. `count_ids` is None where nobody can."""
    held = ranges(cluster, [name])
    behind = _refuse_unread(cluster, held, even_unread=even_unread)
    there = count_ids()
    return Plan(
        title=f"Delete the topic {name}",
        why="With a topic go the ids that it holds: since 2.4 after file.delete.delay.ms (1 min), before it later.",
        steps=[
            Step(
                says=f"Delete the topic {name}",
                command=where.tool("kafka-topics", "--delete", "--topic", name),
                do=lambda: cluster.ask(lambda admin: admin.delete_topics([name])),
            )
        ],
        look=lambda: _gone(cluster, name, count_ids(), there),
        shows=[*_rows(held, "would go"), *behind],
        warnings=[
            "The topic's records, settings and committed offsets are gone for good.",
            "Producers make it anew with the broker's defaults, where auto.create.topics.enable is on.",
        ],
        within=WITHIN,
        word=name,
    )


def _gone(cluster: Cluster, name: str, now: int | None, before: int | None) -> Look:
    """Look whether the topic is gone, and fewer ids are held: brokers let go of a log some time after its name."""
    gone = name not in topics.named(cluster, ())
    held = "" if now is None else f", {count(now, 'producer id is|producer ids are')} held"
    freed = now is None or before is None or now < before or not before
    return Look(cured=gone and freed, says=f"the topic {name} is {'gone' if gone else 'there'}{held}")


def cleaned_by(cluster: Cluster, name: str) -> str:
    """Return a topic's cleanup.policy: records of a compacted topic cannot be trimmed."""
    from kafka.admin import ConfigResource  # noqa: PLC0415 - loaded only where it is used

    found: Any = cluster.ask(lambda admin: admin.describe_configs([ConfigResource("topic", name)], config_filter="all"))
    return str(found["topic"][name].get("cleanup.policy", {}).get("value", "delete"))
