"""YAML, by PyYAML's composer: nodes with places, no objects, all documents of a file."""

from __future__ import annotations

from typing import Any

import yaml

from leadsman.gate.code.syntax import Span
from leadsman.gate.documents.tree import Document, Tree
from leadsman.gate.reader import Reader, UnreadableFile

NULL = "tag:yaml.org,2002:null"
MOST_NODES = 200_000
"""Nodes of a file, aliases counted each time: an alias of aliases can stand for billions."""


def _read(text: str) -> list[Document]:
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    if "{{" in text and "}}" in text and _is_template(text):
        raise UnreadableFile("a template: check what it renders to (helm template)")
    try:
        return [
            Document(_Converter().tree(node), "yaml") for node in yaml.compose_all(text, loader) if node is not None
        ]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise UnreadableFile(f"not YAML: {getattr(error, 'problem', None) or error}{where}") from error


def _is_template(text: str) -> bool:
    """Whether lines of a template's own stand in the text, which are no YAML."""
    return any(line.lstrip().startswith(("{{", "{%")) for line in text.splitlines())


class _Converter:
    """Converts nodes. The count ends a file whose aliases expand without end."""

    def __init__(self) -> None:
        self.count = 0

    def tree(self, node: Any) -> Tree:  # noqa: ANN401 - PyYAML types its nodes loosely
        self.count += 1
        if self.count > MOST_NODES:
            raise UnreadableFile(f"more than {MOST_NODES:,} nodes, aliases counted each time")
        span = _span(node)
        if node.id == "mapping":
            pairs = [(_text(key), _span(key), self.tree(value)) for key, value in node.value]
            return Tree("mapping", span, pairs=_merged(pairs))
        if node.id == "sequence":
            return Tree("list", span, items=[self.tree(each) for each in node.value])
        return Tree("value", span, None if node.tag == NULL else str(node.value))


def _merged(pairs: list[tuple[str, Span, Tree]]) -> list[tuple[str, Span, Tree]]:
    """Put the pairs of merged mappings (`<<`) first, so that the mapping's own pairs count."""
    merged = [
        pair for key, _, value in pairs if key == "<<" for source in (value.items or [value]) for pair in source.pairs
    ]
    own = [pair for pair in pairs if pair[0] != "<<"]
    names = {key for key, _, _ in own}
    return [*(pair for pair in merged if pair[0] not in names), *own]


def _text(node: Any) -> str:  # noqa: ANN401 - PyYAML types its nodes loosely
    return str(node.value) if node.id == "scalar" else ""


def _span(node: Any) -> Span:  # noqa: ANN401 - PyYAML types its nodes loosely
    start, end = node.start_mark, node.end_mark
    return Span(start.line + 1, start.column + 1, end.line + 1, end.column + 1)


READER = Reader(language="yaml", suffixes=(".yml", ".yaml"), is_program=False, comment="#", read=_read)
