"""One tree for configuration files of every format: mappings, lists and values with their places."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.code.syntax import Span


@dataclass(slots=True)
class Tree:
    """A node of a configuration file. `value` is the text of a value; None in mappings, lists, and for unknown values.

    `pairs`: key, the key's span, and the node below. `kind`: value, mapping or list.
    """

    kind: str
    span: Span
    value: str | None = None
    pairs: list[tuple[str, Span, Tree]] = field(default_factory=list)
    items: list[Tree] = field(default_factory=list)

    def get(self, *path: str) -> Tree | None:
        """Return the node at a path of keys."""
        node: Tree | None = self
        for name in path:
            node = next((below for key, _, below in node.pairs if key == name), None) if node else None
        return node

    def text(self, *path: str) -> str:
        """Return the value at a path of keys; empty where there is none."""
        node = self.get(*path)
        return node.value or "" if node else ""

    def walk(self) -> Iterator[Tree]:
        """Yield this node and all below."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(below for _, _, below in reversed(node.pairs))
            pending.extend(reversed(node.items))


@dataclass(slots=True)
class Leaf:
    """A value with the path of its keys. `span` is that of the pair."""

    path: tuple[str, ...]
    node: Tree
    span: Span


@dataclass(slots=True)
class Document:
    """One document of a file. `format` is the reader's language."""

    root: Tree
    format: str

    def leaves(self) -> list[Leaf]:
        """Return all values below mappings, with dotted keys split into their parts."""
        return list(_leaves(self.root, ()))


def _leaves(node: Tree, path: tuple[str, ...]) -> Iterator[Leaf]:
    for key, span, below in node.pairs:
        here = (*path, *key.split("."))
        if below.kind == "value":
            yield Leaf(here, below, _joined(span, below.span))
        else:
            yield from _leaves(below, here)
    for index, each in enumerate(node.items):
        if each.kind != "value":
            yield from _leaves(each, (*path, str(index)))


def _joined(first: Span, last: Span) -> Span:
    return type(first)(first.line, first.column, max(first.end_line, last.end_line), last.end_column)
