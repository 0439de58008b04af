"""Kernel settings in manifests: `sysctls` of Kubernetes, tasks of Ansible, mappings of names to values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.documents.interpreter import Tool, config_resource, setting
from leadsman.gate.documents.tree import Leaf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.documents.tree import Document, Tree
    from leadsman.gate.facts import ConfigResource

PREFIXES = ("net.ipv4.", "net.core.", "net.ipv6.")


def _find(document: Document, _path: str) -> Iterator[ConfigResource]:
    for node in document.root.walk():
        settings = {leaf.path[0]: setting(leaf.path[0], leaf) for leaf in _named(node)}
        if settings:
            yield config_resource("kernel", settings, node.span)


def _named(node: Tree) -> Iterator[Leaf]:
    """Yield the settings of a mapping, and the one that a mapping of name and value gives."""
    for key, span, below in node.pairs:
        if key.strip('"').startswith(PREFIXES) and below.kind == "value":
            yield Leaf((key.strip('"'),), below, span)
    name, value = node.text("name"), node.get("value")
    if name.startswith(PREFIXES) and value is not None and value.kind == "value":
        yield Leaf((name,), value, value.span)


TOOL = Tool(formats=("yaml", "json", "hcl"), find=_find)
