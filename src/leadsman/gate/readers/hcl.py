"""HCL: Terraform and OpenTofu, by tree-sitter. References and functions are values that the file does not say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.code import grammar as g
from leadsman.gate.documents.tree import Document, Tree
from leadsman.gate.reader import Reader

if TYPE_CHECKING:
    from tree_sitter import Node as TreeNode

    from leadsman.gate.code.syntax import Span


def _read(text: str) -> list[Document]:
    root = g.parse(text, "tree_sitter_hcl")
    body = _child(root, "body")
    return [Document(_body(body), "hcl")] if body is not None else []


def _child(node: TreeNode, *types: str) -> TreeNode | None:
    return next((each for each in node.named_children if each.type in types), None)


def _body(node: TreeNode) -> Tree:
    """Return attributes and blocks. A block's key is its type and labels: `resource kafka_topic orders`."""
    tree = Tree("mapping", g.span_of(node))
    for each in node.named_children:
        if each.type == "attribute":
            name = each.named_children[0]
            tree.pairs.append((g.text_of(name), g.span_of(name), _expression(each.named_children[-1])))
        elif each.type == "block":
            labels = [
                g.text_of(part).strip('"') for part in each.named_children if part.type in {"identifier", "string_lit"}
            ]
            body = _child(each, "body")
            below = _body(body) if body is not None else Tree("mapping", g.span_of(each))
            tree.pairs.append((" ".join(labels), g.span_of(each), below))
    return tree


def _expression(node: TreeNode) -> Tree:
    span = g.span_of(node)
    inner = node
    while (
        inner.type in {"expression", "literal_value", "collection_value", "template_expr"}
        and len(inner.named_children) == 1
    ):
        inner = inner.named_children[0]
    match inner.type:
        case "object":
            pairs = [_pair(each) for each in inner.named_children if each.type == "object_elem"]
            return Tree("mapping", span, pairs=pairs)
        case "tuple":
            return Tree(
                "list", span, items=[_expression(each) for each in inner.named_children if each.type == "expression"]
            )
        case "heredoc_template" | "string_lit":
            return Tree("value", span, _text(inner))
        case "numeric_lit" | "bool_lit":
            return Tree("value", span, g.text_of(inner))
    return Tree("value", span, _negative(node))


def _pair(node: TreeNode) -> tuple[str, Span, Tree]:
    key, value = node.child_by_field_name("key"), node.child_by_field_name("val")
    assert key is not None
    assert value is not None
    return g.text_of(key).strip('"'), g.span_of(key), _expression(value)


def _text(node: TreeNode) -> str:
    """Return a text with its interpolations as they stand there: `${var.x}` marks an unknown value."""
    skipped = {"quoted_template_start", "quoted_template_end", "heredoc_start", "heredoc_identifier"}
    return "".join(g.text_of(each) for each in node.named_children if each.type not in skipped)


def _negative(node: TreeNode) -> str | None:
    text = g.text_of(node)
    return text if text.startswith("-") and text[1:].isdecimal() else None


READER = Reader(language="hcl", suffixes=(".tf", ".hcl", ".tofu"), is_program=False, comment="#", read=_read)
