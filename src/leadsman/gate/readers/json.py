"""JSON, by tree-sitter: Python's own parser gives no positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.code import grammar as g
from leadsman.gate.code.syntax import Literal, Span
from leadsman.gate.documents.tree import Document, Tree
from leadsman.gate.reader import Reader, UnreadableFile

if TYPE_CHECKING:
    from tree_sitter import Node as TreeNode


def _read(text: str) -> list[Document]:
    root = g.parse(text, "tree_sitter_json")
    if root.has_error:
        raise UnreadableFile("not JSON")
    return [Document(_tree(each), "json") for each in root.named_children if each.type in {"object", "array"}]


def _tree(node: TreeNode) -> Tree:
    span = g.span_of(node)
    match node.type:
        case "object":
            return Tree("mapping", span, pairs=[pair for each in node.named_children for pair in _pair(each)])
        case "array":
            return Tree("list", span, items=[_tree(each) for each in node.named_children])
        case "string":
            return Tree("value", span, _text(node))
        case "null":
            return Tree("value", span)
    return Tree("value", span, g.text_of(node))


def _pair(node: TreeNode) -> list[tuple[str, Span, Tree]]:
    key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
    return [(_text(key), g.span_of(key), _tree(value))] if key is not None and value is not None else []


def _text(node: TreeNode) -> str:
    literal = g.string(g.Translator({}), node)
    return str(literal.value) if isinstance(literal, Literal) else ""


READER = Reader(language="json", suffixes=(".json",), is_program=False, comment="", read=_read)
