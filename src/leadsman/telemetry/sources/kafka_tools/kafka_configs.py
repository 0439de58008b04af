"""`kafka-configs --describe`: settings of brokers, topics and others, and where each value comes from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.redaction import mask
from leadsman.telemetry.outputs.parser import (
    EventColumns,
    OutputContext,
    OutputParser,
    decoded_lines,
    head_line_matches,
)
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HEADING = re.compile(
    r"(?:Dynamic|All|Default) configs for (?P<owner>[a-z]+)(?:-[a-z]+)? (?:in the cluster|'?(?P<name>[^' ]+)'?) are"
)
LINE = re.compile(
    r" +(?P<key>[\w.\-]+)=(?P<value>.*?) sensitive=false synonyms=\{(?:(?P<origin>[A-Z_]+):)?[^}]*\}?\s*$"
)
BATCH_ROWS = 10_000
"""Settings that are yielded together: a cluster of thousands of topics has hundreds of thousands."""

ConfigRow = tuple[int, str, str, str, str, str | None, str | None]
"""Line, text, key, value, kind of the owner, its name, origin of the value."""


def _parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:  # noqa: ARG001 - a parser's signature
    owner, name = "", None
    rows: list[ConfigRow] = []
    for number, line in decoded_lines(blocks):
        if heading := HEADING.match(line):
            owner, name = heading["owner"].removesuffix("s"), heading["name"]
        elif match := LINE.match(line):
            kind = owner or ("topic" if match["origin"] == "DYNAMIC_TOPIC_CONFIG" else "broker")
            key, _, value = mask(f"{match['key']}={match['value']}").partition("=")
            rows.append((number, line, key, value, kind, name, match["origin"]))
            if len(rows) == BATCH_ROWS:
                yield _settings(rows)
                rows = []
    if rows:
        yield _settings(rows)


def _settings(rows: list[ConfigRow]) -> EventColumns:
    line, text, key, value, owner, name, origin = zip(*rows, strict=True)
    labels = {"key": key, "value": value, "owner": owner, "origin": origin}
    labels |= {
        kind: [owner_name if each == kind else None for each, owner_name in zip(owner, name, strict=True)]
        for kind in sorted(set(owner))
    }
    return EventColumns(name=v.SETTING, lines=line, texts=text, values=[_number(each) for each in value], labels=labels)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


SOURCE = Source(
    "kafka_configs",
    "kafka-configs",
    "state",
    parser=OutputParser(
        matches=head_line_matches(
            r"(?:Dynamic|All|Default) configs for [a-z\-]+ |.* sensitive=(?:true|false) synonyms=\{"
        ),
        parse=_parse,
        event_names=frozenset({v.SETTING}),
    ),
)
