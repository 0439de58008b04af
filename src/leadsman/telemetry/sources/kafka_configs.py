"""`kafka-configs --describe`: what is configured for brokers, topics and others, and where each value comes from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.redaction import mask
from leadsman.telemetry.reading import About, Facts, Reading, decoded_lines, told_by
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HEADING = re.compile(
    r"(?:Dynamic|All|Default) configs for (?P<owner>[a-z]+)(?:-[a-z]+)? (?:in the cluster|'?(?P<name>[^' ]+)'?) are"
)
LINE = re.compile(
    r" +(?P<key>[\w.\-]+)=(?P<value>.*?) sensitive=false synonyms=\{(?:(?P<origin>[A-Z_]+):)?[^}]*\}?\s*$"
)
GATHERED = 10_000
"""Settings that are handed on together: a cluster of thousands of topics has hundreds of thousands."""

Told = tuple[int, str, str, str, str, str | None, str | None]
"""Line, text, key, value, owner, name of whom, origin."""


def _facts(blocks: Iterable[bytes], about: About) -> Iterator[Facts]:  # noqa: ARG001 - a reading's signature
    owner, name = "", None
    told: list[Told] = []
    for number, line in decoded_lines(blocks):
        if heading := HEADING.match(line):
            owner, name = heading["owner"].removesuffix("s"), heading["name"]
        elif found := LINE.match(line):
            whose = owner or ("topic" if found["origin"] == "DYNAMIC_TOPIC_CONFIG" else "broker")
            key, _, value = mask(f"{found['key']}={found['value']}").partition("=")
            told.append((number, line, key, value, whose, name, found["origin"]))
            if len(told) == GATHERED:
                yield _settings(told)
                told = []
    if told:
        yield _settings(told)


def _settings(told: list[Told]) -> Facts:
    line, text, key, value, owner, name, origin = zip(*told, strict=True)
    labels = {"key": key, "value": value, "owner": owner, "origin": origin}
    labels |= {
        kind: [each if whose == kind else None for whose, each in zip(owner, name, strict=True)]
        for kind in sorted(set(owner))
    }
    return Facts(name=v.SETTING, lines=line, texts=text, values=[_number(each) for each in value], labels=labels)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


SOURCE = Source(
    "kafka_configs",
    "kafka-configs",
    "state",
    reading=Reading(
        tells=told_by(r"(?:Dynamic|All|Default) configs for [a-z\-]+ |.* sensitive=(?:true|false) synonyms=\{"),
        facts=_facts,
        reports=frozenset({v.SETTING}),
    ),
)
