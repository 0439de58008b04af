"""Files that Kafka's own programs read: brokers, Connect workers, clients; and the kernel's sysctl.d."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from leadsman.gate.documents.interpreter import Tool, config_resource, connect_worker, setting
from leadsman.kafka_defaults import has_setting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.documents.tree import Document
    from leadsman.gate.facts import ConfigResource, Setting

BROKER_SIGNS = frozenset(
    {"broker.id", "node.id", "log.dirs", "zookeeper.connect", "process.roles", "controller.quorum.voters"}
)
WORKER_SIGNS = frozenset(
    {"offset.storage.topic", "config.storage.topic", "offset.storage.file.filename", "plugin.path"}
)
PREFIXES = {"producer.": "producer", "consumer.": "consumer", "admin.": "admin"}
KERNEL = ("net.ipv4.", "net.core.", "net.ipv6.")
APPLICATION = ("spring.", "mp.messaging.", "quarkus.", "kafka-streams.")


def _find(document: Document, path: str) -> Iterator[ConfigResource]:
    settings = {".".join(leaf.path): setting(".".join(leaf.path), leaf) for leaf in document.leaves()}
    if not settings or any(name.startswith(APPLICATION) for name in settings):
        return
    first = next(iter(settings.values())).span
    if settings.keys() & BROKER_SIGNS:
        yield config_resource("broker", settings, first, defaults="broker", name=PurePath(path).name)
    elif any(name.startswith(KERNEL) for name in settings):
        yield config_resource("kernel", settings, first)
    elif settings.keys() & WORKER_SIGNS:
        yield from _worker(settings)
    elif "bootstrap.servers" in settings:
        yield config_resource(_kind(settings), settings, first)


def _worker(settings: dict[str, Setting]) -> Iterator[ConfigResource]:
    servers = settings.get("bootstrap.servers")
    yield from connect_worker(settings, (servers.value or "") if servers else "")
    for prefix, kind in PREFIXES.items():
        own = {name.removeprefix(prefix): each for name, each in settings.items() if name.startswith(prefix)}
        if own:
            yield config_resource(kind, own, next(iter(own.values())).span, defaults=kind, name="Kafka Connect")


def _kind(settings: dict[str, Setting]) -> str:
    """Return the one kind of client that has the most of these settings; client where several have."""
    counts = {kind: sum(has_setting(kind, name) for name in settings) for kind in ("producer", "consumer", "streams")}
    most = max(counts.values())
    best = [kind for kind, count in counts.items() if count == most]
    return best[0] if len(best) == 1 else "client"


TOOL = Tool(formats=("properties",), find=_find)
