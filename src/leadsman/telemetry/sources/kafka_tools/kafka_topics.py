"""`kafka-topics --describe`: partitions with leader, replicas and ISR, and the settings of single topics."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.outputs.block_matches import find_matches
from leadsman.telemetry.outputs.parser import EventColumns, OutputContext, OutputParser, head_line_matches
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.outputs.block_matches import BlockMatches

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


def _parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:  # noqa: ARG001 - a parser's signature
    for matches in find_matches(LINE, blocks):
        partitions = [index for index, topic in enumerate(matches.groups[0]) if topic is not None]
        if partitions:
            yield _partitions(matches, partitions)
        yield from _settings(matches)


def _partitions(matches: BlockMatches, indices: list[int]) -> EventColumns:
    topic, partition, leader, replicas, isr, epoch = (
        [column[index] for index in indices] for column in matches.groups[:6]
    )
    return EventColumns(
        name=v.PARTITION_STATE,
        lines=matches.lines[indices],
        texts=[matches.texts[index] for index in indices],
        labels={
            "topic": topic,
            "partition": partition,
            "leader": [NO_LEADER.get(str(each), each) for each in leader],
            "replicas": replicas,
            "isr": isr,
            "epoch": epoch,
        },
    )


def _settings(matches: BlockMatches) -> Iterator[EventColumns]:
    """Yield the settings of topics that have any of their own."""
    topics, configured = matches.groups[6], matches.groups[10]
    rows = [
        (index, topics[index], *setting)
        for index, text in enumerate(configured)
        if text
        for setting in SETTING.findall(text)
    ]
    if rows:
        index, topic, key, value = (list(column) for column in zip(*rows, strict=True))
        labels = {"key": key, "value": value, "topic": topic, "owner": ["topic"] * len(rows)}
        yield EventColumns(
            name=v.SETTING,
            lines=matches.lines[index],
            texts=[matches.texts[each] for each in index],
            values=[_number(each) for each in value],
            labels=labels,
        )


def _number(text: str) -> float | None:
    return float(text) if text.lstrip("-").isdigit() else None


SOURCE = Source(
    "kafka_topics",
    "kafka-topics",
    "state",
    parser=OutputParser(
        matches=head_line_matches(
            r"Topic: ?[\w.\-]+\t(?:TopicId:|PartitionCount:)|[ \t]+Topic: ?[\w.\-]+\tPartition: ?\d+\tLeader:"
        ),
        parse=_parse,
        event_names=frozenset({v.PARTITION_STATE, v.SETTING}),
    ),
)
