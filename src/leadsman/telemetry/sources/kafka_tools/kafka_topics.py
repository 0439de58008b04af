"""`kafka-topics --describe`: partitions with leader, replicas and ISR, and the settings of single topics."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from leadsman import vocabulary as v
from leadsman.telemetry.outputs.parser import EventColumns, OutputContext, OutputParser, head_line_matches
from leadsman.telemetry.outputs.usual_lines import UsualLayout, lines_by_block, merged
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from leadsman.telemetry.outputs.usual_lines import Lines

# Up to 2.2 no space follows the colon of a topic's own line. 4.x adds Elr and LastKnownElr behind the ISR; our own
# collector adds LeaderEpoch.
TOPIC = (
    r"Topic: ?([\w.\-]+)\t(?:TopicId: ?(\S*)\t)?PartitionCount: ?(\d+)\tReplicationFactor: ?(\d+)\tConfigs: ?([^\n]*)"
)
PARTITION = (
    r"[ \t]+Topic: ?([\w.\-]+)\tPartition: ?(\d+)\tLeader: ?([\w\-]+)\tReplicas: ?([\d,]*)\tIsr: ?([\d,]*)"
    r"(?:[^\n]*\tLeaderEpoch: ?(\d+))?[^\n]*"
)
PARTITION_LAYOUT = UsualLayout(
    r"[ \t]+Topic: ?([\w.\-]+)\tPartition: ?(\d+)\tLeader: ?([\w\-]+)\tReplicas: ?([\d,]*)\tIsr: ?([\d,]*)"
    r"(?:\tElr: ?[\d,]*)?(?:\tLastKnownElr: ?[\d,]*)?(?:\tLeaderEpoch: ?(\d+))?"
)
LINE = re.compile(rf"(?:{PARTITION}|{TOPIC})")
SETTING = re.compile(r"([a-z][a-z.]*)=(.*?)(?=,[a-z][a-z.]*=|\s*$)")


def _parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:  # noqa: ARG001 - a parser's signature
    for lines in lines_by_block(blocks):
        rows = PARTITION_LAYOUT.rows(lines)
        odd = [(index, *match.groups("")) for index in rows.odd if (match := LINE.match(lines.texts[index]))]
        single = [place_and_groups[:7] for place_and_groups in odd if place_and_groups[1]]
        usual = _partitions(rows.numbers(lines), rows.texts(lines), rows.columns)
        indices, *columns = zip(*single, strict=True) if single else ([], *([()] * 6))
        rest = _partitions([lines.first + each for each in indices], [lines.texts[each] for each in indices], columns)
        if (partitions := merged((usual, rest))) is not None:
            yield partitions
        yield from _settings(lines, odd)


def _partitions(lines: Sequence[int], texts: Sequence[str], columns: Sequence[Sequence[str]]) -> EventColumns:
    topic, partition, leader, replicas, isr, epoch = columns
    return EventColumns(
        name=v.PARTITION_STATE,
        lines=lines,
        texts=texts,
        labels={
            "topic": topic,
            "partition": partition,
            "leader": leader if "-1" not in leader else ["none" if each == "-1" else each for each in leader],
            "replicas": replicas,
            "isr": isr,
            "epoch": epoch if all(epoch) else [each or None for each in epoch],
        },
    )


def _settings(lines: Lines, odd: Sequence[tuple[Any, ...]]) -> Iterator[EventColumns]:
    """Yield the settings of topics that have any of their own."""
    rows = [
        (index, topic, *setting)
        for index, *_, topic, _, _, _, configured in odd
        if configured
        for setting in SETTING.findall(configured)
    ]
    if rows:
        indices, topic, key, value = (list(column) for column in zip(*rows, strict=True))
        yield EventColumns(
            name=v.SETTING,
            lines=[lines.first + index for index in indices],
            texts=[lines.texts[index] for index in indices],
            values=[_number(each) for each in value],
            labels={"key": key, "value": value, "topic": topic, "owner": "topic"},
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
