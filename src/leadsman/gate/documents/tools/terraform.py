"""Terraform: topics of the providers of Kafka, Confluent and Aiven, and brokers of MSK."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.documents.interpreter import Tool, brokers_listed, config_resource, setting
from leadsman.gate.documents.tree import Document, Leaf, Tree
from leadsman.gate.readers.properties import parse_properties

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.facts import ConfigResource, Setting

TOPICS = frozenset({"kafka_topic", "confluent_kafka_topic", "aiven_kafka_topic"})
FACTORS = ("replication_factor", "replication")
PROPERTIES = "server_properties"
MSK = "msk"
PROVIDER = "provider kafka"
RESOURCE = 3
"""A block `resource TYPE NAME`."""


def _find(document: Document, _path: str) -> Iterator[ConfigResource]:
    for key, _, block in document.root.pairs:
        words = key.split()
        if len(words) != RESOURCE or words[0] != "resource":
            continue
        if words[1] in TOPICS:
            settings = _topic(block)
            if settings:
                yield config_resource("topic", settings, block.span, name=words[2], cluster=words[1])
        elif words[1] == "aws_msk_configuration":
            yield from _msk(block, words[2])


def _topic(block: Tree) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for key, span, below in block.pairs:
        if key in FACTORS and below.kind == "value":
            found["replication.factor"] = setting("replication.factor", Leaf((key,), below, span))
        elif key == "config":
            for leaf in Document(below, "hcl").leaves():
                name = ".".join(leaf.path).replace("_", ".")
                found[name] = setting(name, leaf)
    return found


def _msk(block: Tree, name: str) -> Iterator[ConfigResource]:
    text = block.get(PROPERTIES)
    if text is None or text.value is None:
        return
    # The properties of a heredoc begin on the line below the attribute.
    root = parse_properties(text.value.lstrip("\n"), first_line=text.span.line + 1)
    leaves = Document(root, "properties").leaves()
    settings = {".".join(leaf.path): setting(".".join(leaf.path), leaf) for leaf in leaves}
    if settings:
        yield config_resource("broker", settings, block.span, defaults="broker", name=name, cluster=MSK)


def _cluster_sizes(documents: list[Document]) -> dict[str, int]:
    """Return the brokers of a file's one MSK cluster, and of the one cluster of the provider of Kafka.

    Of several it is not known whose settings are whose.
    """
    servers = [_servers(block) for document in documents for key, _, block in document.root.pairs if key == PROVIDER]
    listed = brokers_listed(servers[0]) if len(servers) == 1 else None
    return _msk_sizes(documents) | ({"kafka_topic": listed} if listed else {})


def _servers(block: Tree) -> str:
    servers = block.get("bootstrap_servers")
    return ",".join(each.value or "${}" for each in servers.items) if servers else ""


def _msk_sizes(documents: list[Document]) -> dict[str, int]:
    counts = [
        block.text("number_of_broker_nodes")
        for document in documents
        for key, _, block in document.root.pairs
        if key.startswith("resource aws_msk_cluster ")
    ]
    return {MSK: int(counts[0])} if len(counts) == 1 and counts[0].isdigit() else {}


TOOL = Tool(formats=("hcl",), find=_find, cluster_sizes=_cluster_sizes)
