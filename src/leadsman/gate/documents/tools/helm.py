"""Values of the Helm chart of Kafka, alone or as a part of another chart: brokers, their settings, and topics."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leadsman.gate.documents.interpreter import Tool, config_resource, setting
from leadsman.gate.documents.tree import Document, Leaf
from leadsman.gate.readers.properties import parse_properties
from leadsman.kafka_defaults import has_setting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.documents.tree import Tree
    from leadsman.gate.facts import ConfigResource, Setting

TEXTS = ("extraConfig", "config")
"""Of the brokers, in the form of server.properties."""

MAPPINGS = ("overrideConfiguration",)
FACTOR = "replicationFactor"


def _find(document: Document, _path: str) -> Iterator[ConfigResource]:
    for node in document.root.walk():
        count = _brokers(node)
        if count is None:
            continue
        settings = {name: each for name, each in _settings(node) if has_setting("broker", name)}
        if settings:
            span = next(iter(settings.values())).span
            yield replace(config_resource("broker", settings, span, defaults="broker"), brokers=count)
        topics = node.get("provisioning", "topics")
        for topic in topics.items if topics else []:
            yield from _topic(topic, count)


def _brokers(node: Tree) -> int | None:
    """Return the brokers of a chart's values: controllers are brokers, too, unless they are controllers only."""
    counts = [node.text(each, "replicaCount") for each in ("controller", "broker")]
    if node.text("controller", "controllerOnly") == "true":
        counts = counts[1:]
    numbers = [int(each) for each in counts if each.isdigit()]
    return sum(numbers) or None


def _settings(node: Tree) -> Iterator[tuple[str, Setting]]:
    for key, span, below in node.pairs:
        if key in TEXTS and below.kind == "value" and below.value:
            # The lines of a block begin on the line below its key.
            root = parse_properties(below.value, first_line=span.line + 1)
            for leaf in Document(root, "properties").leaves():
                yield ".".join(leaf.path), setting(".".join(leaf.path), leaf)
        elif key in MAPPINGS:
            for leaf in Document(below, "yaml").leaves():
                yield ".".join(leaf.path), setting(".".join(leaf.path), leaf)


def _topic(topic: Tree, count: int) -> Iterator[ConfigResource]:
    for key, span, below in topic.pairs:
        if key == FACTOR and below.kind == "value":
            factor = setting("replication.factor", Leaf((key,), below, span))
            found = config_resource("topic", {"replication.factor": factor}, span, name=topic.text("name"))
            yield replace(found, brokers=count)


TOOL = Tool(formats=("yaml",), find=_find)
