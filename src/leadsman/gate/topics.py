"""Topics as the tools of Kafka list them: the output of `kafka-topics --describe` and `kafka-configs --describe`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leadsman.errors import UsageError
from leadsman.gate.check import Report, check_facts
from leadsman.gate.code.syntax import Span
from leadsman.gate.facts import ConfigResource, Facts, Setting
from leadsman.gate.reader import UnreadableFile, reader_of
from leadsman.gate.sources import facts_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from leadsman.gate.rule import ModeRule

DESCRIBED = "configs for "
CHECKED = ("topic", "broker", "connect", "producer")
KINDS = {"topic": "topic", "broker": "broker", "brokers": "broker"}


def check_topics(files: Sequence[Path], rules: Sequence[ModeRule], lag_hours: float | None) -> Report:
    """Check files of tools and of definitions, and producers' settings against those of the topics.

    UsageError for a file that names no topic, no broker and no producer.
    """
    report = Report(files=len(files), rules=rules)
    every = [topic_facts(file) for file in files]
    least = [value for facts in every for each in facts.resources if (value := _min_insync(each)) is not None]
    lag_ms = None if lag_hours is None else lag_hours * 3_600_000
    for facts in every:
        known = replace(facts, is_cluster=True, lag_ms=lag_ms, min_insync=max(least, default=None))
        report.add(check_facts(known, rules))
    return report


def _min_insync(resource: ConfigResource) -> float | None:
    return resource.number("min.insync.replicas") if resource.is_kind("topic", "broker") else None


def topic_facts(file: Path) -> Facts:
    """Return the topics, brokers and producers of a file."""
    text = text_of(file.read_bytes())
    listed = tuple(_listed(text.splitlines()))
    if listed:
        return Facts(path=str(file), language="kafka", text=text, resources=listed)
    reader = reader_of(file.name)
    try:
        found = facts_of(str(file), text, reader) if reader is not None else None
    except UnreadableFile as error:
        raise UsageError(f"{file} cannot be read: {error}.") from error
    if found is None or not any(each.is_kind(*CHECKED) for each in found.resources):
        raise UsageError(
            f"{file} names no topic, no broker and no producer. Give the output of kafka-topics --describe or of "
            "kafka-configs --describe, or a file of Strimzi or Terraform."
        )
    return found


def _listed(lines: list[str]) -> Iterator[ConfigResource]:
    index = 0
    while index < len(lines):
        line = lines[index]
        if line.startswith("Topic:") and "ReplicationFactor:" in line:
            yield _described_topic(line, index + 1)
        elif DESCRIBED in line and line.rstrip().endswith("are:"):
            below = _indented(lines, index + 1)
            yield _configured(line, index + 1, below)
            index += len(below)
        index += 1


def _described_topic(line: str, number: int) -> ConfigResource:
    """Read `Topic: orders<tab>PartitionCount: 3<tab>ReplicationFactor: 1<tab>Configs: a=b,c=d`."""
    fields = {key.strip(): value.strip() for key, _, value in (part.partition(":") for part in line.split("\t"))}
    pairs = [("replication.factor", fields.get("ReplicationFactor", ""))]
    pairs += [(key, value) for key, _, value in (each.partition("=") for each in fields.get("Configs", "").split(","))]
    settings = {name: _setting(name, value, line, number) for name, value in pairs if value}
    span = Span(number, 1, number, len(line) + 1)
    return ConfigResource(kind="topic", span=span, settings=settings, name=fields["Topic"], cluster=fields["Topic"])


def _indented(lines: list[str], start: int) -> list[str]:
    end = start
    while end < len(lines) and lines[end].startswith(" "):
        end += 1
    return lines[start:end]


def _configured(line: str, number: int, below: list[str]) -> ConfigResource:
    """Read `Dynamic configs for topic orders are:` and the lines `  name=value sensitive=false synonyms={...}`."""
    words = line.partition(DESCRIBED)[2].split()
    settings = {}
    for offset, each in enumerate(below, start=1):
        name, equals, rest = each.strip().partition("=")
        if equals:
            value = rest.partition(" sensitive=")[0]
            settings[name] = _setting(name, value, each, number + offset)
    name = words[1] if len(words) > 1 else ""
    span = Span(number, 1, number, len(line) + 1)
    return ConfigResource(kind=KINDS.get(words[0], "topic"), span=span, settings=settings, name=name, cluster=name)


def _setting(name: str, value: str, line: str, number: int) -> Setting:
    written = "ReplicationFactor" if name == "replication.factor" and "ReplicationFactor" in line else name
    start = max(0, line.find(written))
    span = Span(number, start + 1, number, start + len(written) + 1)
    return Setting(name=name, value=value, written=written, span=span, value_span=span)
