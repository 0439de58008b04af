"""Mappings of clients' settings in Helm values, TOML and JSON, and connectors of Kafka Connect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.documents.interpreter import Tool, config_resource, setting
from leadsman.gate.documents.tree import Document
from leadsman.kafka_defaults import has_setting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.documents.tree import Leaf
    from leadsman.gate.facts import ConfigResource, Setting

SERVERS = "bootstrap.servers"
OVERRIDES = {"producer.override.": "producer", "consumer.override.": "consumer", "admin.override.": "admin"}


def _find(document: Document, _path: str) -> Iterator[ConfigResource]:
    for node in document.root.walk():
        names = {key for key, _, _ in node.pairs}
        if "connector.class" in names:
            yield from _connector(Document(node, document.format).leaves())
        elif SERVERS in names:
            leaves = Document(node, document.format).leaves()
            settings = {".".join(leaf.path): setting(".".join(leaf.path), leaf) for leaf in leaves}
            yield config_resource(_kind(settings), settings, node.span)


def _connector(leaves: list[Leaf]) -> Iterator[ConfigResource]:
    for prefix, kind in OVERRIDES.items():
        own: dict[str, Setting] = {}
        for leaf in leaves:
            name = ".".join(leaf.path)
            if name.startswith(prefix):
                own[name.removeprefix(prefix)] = setting(name.removeprefix(prefix), leaf)
        if own:
            yield config_resource(kind, own, next(iter(own.values())).span, defaults=kind, name="connector")


def _kind(settings: dict[str, Setting]) -> str:
    """Return the one kind of client that has the most of these settings; client where several have."""
    counts = {kind: sum(has_setting(kind, name) for name in settings) for kind in ("producer", "consumer", "streams")}
    best = [kind for kind, count in counts.items() if count == max(counts.values())]
    return best[0] if len(best) == 1 else "client"


TOOL = Tool(formats=("yaml", "json", "toml"), find=_find)
