"""TOML, by tree-sitter: Python's own parser gives no positions."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from leadsman.gate.code import grammar as g
from leadsman.gate.documents.tree import Document, Tree
from leadsman.gate.reader import Reader, UnreadableFile

if TYPE_CHECKING:
    from tree_sitter import Node as TreeNode

    from leadsman.gate.code.syntax import Span

VALUES = frozenset({"string", "integer", "float", "boolean", "array", "inline_table"})
KEYS = frozenset({"bare_key", "quoted_key", "dotted_key"})


def _read(text: str) -> list[Document]:
    try:
        tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UnreadableFile(f"not TOML: {error}") from error
    root = g.parse(text, "tree_sitter_toml")
    tree = Tree("mapping", g.span_of(root))
    for each in root.named_children:
        if each.type == "pair":
            tree.pairs += _pair(each)
        elif each.type in {"table", "table_array_element"}:
            key = each.named_children[0]
            pairs = [pair for inner in each.named_children[1:] for pair in _pair(inner)]
            tree.pairs.append((_key(key), g.span_of(key), Tree("mapping", g.span_of(each), pairs=pairs)))
    return [Document(tree, "toml")]


def _pair(node: TreeNode) -> list[tuple[str, Span, Tree]]:
    parts = [each for each in node.named_children if each.type in KEYS | VALUES]
    return [(_key(parts[0]), g.span_of(parts[0]), _tree(parts[-1]))] if len(parts) > 1 else []


def _key(node: TreeNode) -> str:
    parts = node.named_children if node.type == "dotted_key" else [node]
    return ".".join(_key(each) if each.type == "dotted_key" else g.text_of(each).strip("\"'") for each in parts)


def _tree(node: TreeNode) -> Tree:
    span = g.span_of(node)
    if node.type == "inline_table":
        return Tree("mapping", span, pairs=[pair for each in node.named_children for pair in _pair(each)])
    if node.type == "array":
        return Tree("list", span, items=[_tree(each) for each in node.named_children if each.type in VALUES])
    text = g.text_of(node)
    return Tree("value", span, str(tomllib.loads(f"value = {text}")["value"]) if node.type == "string" else text)


READER = Reader(language="toml", suffixes=(".toml",), is_program=False, comment="#", read=_read)
