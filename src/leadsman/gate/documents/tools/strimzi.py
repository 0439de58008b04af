"""Strimzi's resources: Kafka, KafkaTopic, KafkaConnect, KafkaMirrorMaker2, KafkaNodePool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.documents.interpreter import Tool, config_resource, connect_worker, setting
from leadsman.gate.documents.tree import Document, Leaf, Tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.facts import ConfigResource, Setting

GROUP = "kafka.strimzi.io/"
LABEL = "strimzi.io/cluster"
BOOTSTRAP = "-kafka-bootstrap"
"""What follows the name of a cluster in the name of its service."""


def _find(document: Document, _path: str) -> Iterator[ConfigResource]:
    root = document.root
    if not root.text("apiVersion").startswith(GROUP):
        return
    name = root.text("metadata", "name")
    match root.text("kind"):
        case "Kafka":
            settings = _settings(root.get("spec", "kafka", "config"))
            if settings:
                yield config_resource("broker", settings, root.span, defaults="broker", name=name, cluster=name)
        case "KafkaTopic":
            settings = _settings(root.get("spec", "config")) | _replicas(root)
            if settings:
                cluster = root.text("metadata", "labels", LABEL)
                yield config_resource(
                    "topic", settings, root.span, name=root.text("spec", "topicName") or name, cluster=cluster
                )
        case "KafkaConnect":
            yield from _worker(root, name)


def _settings(node: Tree | None) -> dict[str, Setting]:
    if node is None:
        return {}
    leaves = Document(node, "yaml").leaves()
    return {".".join(leaf.path): setting(".".join(leaf.path), leaf) for leaf in leaves}


def _replicas(root: Tree) -> dict[str, Setting]:
    spec = root.get("spec")
    for key, span, below in spec.pairs if spec else []:
        if key == "replicas" and below.kind == "value":
            return {"replication.factor": setting("replication.factor", Leaf(("replicas",), below, span))}
    return {}


def _worker(root: Tree, name: str) -> Iterator[ConfigResource]:
    settings = _settings(root.get("spec", "config"))
    servers = root.text("spec", "bootstrapServers")
    yield from connect_worker(settings, servers, cluster=servers.partition(BOOTSTRAP)[0])
    for kind in ("producer", "consumer", "admin"):
        own = {key.removeprefix(kind + "."): each for key, each in settings.items() if key.startswith(kind + ".")}
        if own:
            yield config_resource(kind, own, next(iter(own.values())).span, defaults=kind, name=name)


def _cluster_sizes(documents: list[Document]) -> dict[str, int]:
    """Return the brokers of each cluster, of its own resource or of its node pools."""
    sizes: dict[str, int] = {}
    for root in (each.root for each in documents if each.root.text("apiVersion").startswith(GROUP)):
        is_pool = root.text("kind") == "KafkaNodePool" and _has_brokers(root)
        name = root.text("metadata", "labels", LABEL) if is_pool else root.text("metadata", "name")
        replicas = root.text("spec", "replicas") if is_pool else root.text("spec", "kafka", "replicas")
        if (is_pool or root.text("kind") == "Kafka") and replicas.isdigit():
            sizes[name] = sizes.get(name, 0) + int(replicas)
    return sizes


def _has_brokers(root: Tree) -> bool:
    roles = root.get("spec", "roles")
    return roles is not None and any(each.value == "broker" for each in roles.items)


TOOL = Tool(formats=("yaml",), find=_find, cluster_sizes=_cluster_sizes)
