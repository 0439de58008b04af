"""Environments of containers: compose files and Kubernetes manifests with the variables of Kafka's images."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from leadsman.gate.code.syntax import Span
from leadsman.gate.documents.interpreter import Tool, config_resource, connect_worker, setting
from leadsman.gate.documents.tools.quarkus import channels
from leadsman.gate.documents.tools.spring import spring_clients
from leadsman.gate.documents.tree import Leaf, Tree
from leadsman.kafka_defaults import has_setting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.documents.tree import Document
    from leadsman.gate.facts import ConfigResource, Setting

BROKER_PREFIXES = ("KAFKA_CFG_", "KAFKA_")
"""Of the images of Bitnami, and of Confluent and Apache."""

BROKER_SIGNS = ("broker.id", "node.id", "advertised.listeners", "zookeeper.connect", "process.roles", "listeners")
CLUSTER_KEYS = ("controller.quorum.voters", "controller.quorum.bootstrap.servers", "zookeeper.connect")
WORKER_PREFIXES = {"CONNECT_PRODUCER_": "producer", "CONNECT_CONSUMER_": "consumer"}


def _find(document: Document, _path: str) -> Iterator[ConfigResource]:
    for pairs in _environments(document.root):
        broker = _broker(pairs)
        if broker:
            yield config_resource(
                "broker", broker, next(iter(broker.values())).span, defaults="broker", cluster=_cluster(broker)
            )
        yield from spring_clients(_properties(pairs, "SPRING_"))
        yield from channels(_properties(pairs, "MP_MESSAGING_"))
        worker = _settings(pairs, ("CONNECT_",))
        servers = worker.get("bootstrap.servers")
        yield from connect_worker(worker, (servers.value or "") if servers else "")
        for prefix, kind in WORKER_PREFIXES.items():
            own = _settings(pairs, (prefix,))
            if own:
                yield config_resource(kind, own, next(iter(own.values())).span, defaults=kind, name="Kafka Connect")


def _broker(pairs: list[Leaf]) -> dict[str, Setting]:
    """Return the settings of a broker; none for a controller alone, and for a container of another kind."""
    found = _settings(pairs, BROKER_PREFIXES)
    known = {name: each for name, each in found.items() if has_setting("broker", name)}
    roles = known.get("process.roles")
    is_broker = roles is None or roles.value is None or "broker" in roles.value
    return known if is_broker and any(sign in known for sign in BROKER_SIGNS) else {}


def _cluster(broker: dict[str, Setting]) -> str:
    """Return what all brokers of a cluster, and no others, have in common; empty where the file does not say it."""
    for name in CLUSTER_KEYS:
        if name in broker:
            return broker[name].value or ""
    return ""


def _settings(pairs: list[Leaf], prefixes: tuple[str, ...]) -> dict[str, Setting]:
    found = {}
    for leaf in pairs:
        prefix = next((each for each in prefixes if leaf.path[-1].startswith(each)), None)
        if prefix:
            name = leaf.path[-1].removeprefix(prefix).lower().replace("_", ".")
            found[name] = setting(name, leaf)
    return found


def _properties(pairs: list[Leaf], prefix: str) -> list[Leaf]:
    """Return the variables that a framework reads as its properties: `SPRING_KAFKA_PRODUCER_RETRIES`."""
    found = [each for each in pairs if each.path[-1].startswith(prefix)]
    return [Leaf(tuple(each.path[-1].lower().split("_")), each.node, each.span) for each in found]


def _environments(root: Tree) -> Iterator[list[Leaf]]:
    """Yield the variables of each container: of compose (`environment`) and of Kubernetes (`env`)."""
    for node in root.walk():
        for key, _, below in node.pairs:
            if key == "environment":
                yield list(_compose(below))
            elif key == "env" and below.kind == "list":
                yield list(_kubernetes(below))


def _compose(node: Tree) -> Iterator[Leaf]:
    for key, span, below in node.pairs:
        if below.kind == "value":
            yield Leaf((key,), below, Span(span.line, span.column, below.span.end_line, below.span.end_column))
    for each in node.items:
        name, equals, value = (each.value or "").partition("=")
        if equals:
            yield Leaf((name,), Tree("value", each.span, value), each.span)


def _kubernetes(node: Tree) -> Iterator[Leaf]:
    for each in node.items:
        value = each.get("value")
        if value is not None and value.kind == "value":
            yield Leaf((each.text("name"),), value, each.span)


def _cluster_sizes(documents: list[Document]) -> Counter[str]:
    found = [_broker(pairs) for document in documents for pairs in _environments(document.root)]
    return Counter(key for broker in found if broker and (key := _cluster(broker)))


TOOL = Tool(formats=("yaml",), find=_find, cluster_sizes=_cluster_sizes)
