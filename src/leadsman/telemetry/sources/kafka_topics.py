"""`kafka-topics --describe`: partitions with leader, replicas and ISR, and what is configured for a topic alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.bulk import matches
from leadsman.telemetry.reading import About, Facts, Reading, told_by
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.bulk import Matches

# Up to 2.2 no space follows the colon of a topic's own line. 4.x adds Elr and LastKnownElr behind the ISR; our own
# collector adds LeaderEpoch.
TOPIC = (
    r"Topic: ?([\w.\-]+)\t(?:TopicId: ?(\S*)\t)?PartitionCount: ?(\d+)\tReplicationFactor: ?(\d+)\tConfigs: ?([^\n]*)"
)
PARTITION = (
    r"[ \t]+Topic: ?([\w.\-]+)\tPartition: ?(\d+)\tLeader: ?([\w\-]+)\tReplicas: ?([\d,]*)\tIsr: ?([\d,]*)"
    r"(?:[^\n]*\tLeaderEpoch: ?(\d+))?[^\n]*"
)
LINE = re.compile(rf"^(?:{PARTITION}|{TOPIC})", re.MULTILINE)
SETTING = re.compile(r"([a-z][a-z.]*)=(.*?)(?=,[a-z][a-z.]*=|\s*$)")
NO_LEADER = {"-1": "none"}


def _facts(blocks: Iterable[bytes], about: About) -> Iterator[Facts]:  # noqa: ARG001 - a reading's signature
    for found in matches(LINE, blocks):
        partitions = [index for index, topic in enumerate(found.groups[0]) if topic is not None]
        if partitions:
            yield _partitions(found, partitions)
        yield from _settings(found)


def _partitions(found: Matches, chosen: list[int]) -> Facts:
    topic, partition, leader, replicas, isr, epoch = (
        [column[index] for index in chosen] for column in found.groups[:6]
    )
    return Facts(
        name=v.PARTITION_STATE,
        lines=found.lines[chosen],
        texts=[found.texts[index] for index in chosen],
        labels={
            "topic": topic,
            "partition": partition,
            "leader": [NO_LEADER.get(str(each), each) for each in leader],
            "replicas": replicas,
            "isr": isr,
            "epoch": epoch,
        },
    )


def _settings(found: Matches) -> Iterator[Facts]:
    """Yield what is configured for topics, and nothing of the many for which nothing is."""
    topics, configured = found.groups[6], found.groups[10]
    told = [
        (index, topics[index], *setting)
        for index, text in enumerate(configured)
        if text
        for setting in SETTING.findall(text)
    ]
    if told:
        index, topic, key, value = (list(column) for column in zip(*told, strict=True))
        labels = {"key": key, "value": value, "topic": topic, "owner": ["topic"] * len(told)}
        yield Facts(
            name=v.SETTING,
            lines=found.lines[index],
            texts=[found.texts[each] for each in index],
            values=[_number(each) for each in value],
            labels=labels,
        )


def _number(text: str) -> float | None:
    return float(text) if text.lstrip("-").isdigit() else None


SOURCE = Source(
    "kafka_topics",
    "kafka-topics",
    "state",
    reading=Reading(
        tells=told_by(
            r"Topic: ?[\w.\-]+\t(?:TopicId:|PartitionCount:)|[ \t]+Topic: ?[\w.\-]+\tPartition: ?\d+\tLeader:"
        ),
        facts=_facts,
        reports=frozenset({v.PARTITION_STATE, v.SETTING}),
    ),
)
