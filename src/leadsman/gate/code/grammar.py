"""What the translations of tree-sitter's syntax trees have in common. Nodes without a translation keep those below."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from leadsman.errors import MissingExtra
from leadsman.gate.code import syntax as s

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tree_sitter import Node as TreeNode
    from tree_sitter import Parser

    Translation: TypeAlias = "Callable[[Translator, TreeNode], s.Node]"

ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b"}


@cache
def parser_of(package: str, function: str = "language") -> Parser:
    """Return the parser of a grammar's package. MissingExtra where it is not installed."""
    try:
        from tree_sitter import Language, Parser  # part of an extra

        return Parser(Language(getattr(import_module(package), function)()))
    except ImportError as error:
        raise missing_parser(package) from error


def missing_parser(package: str) -> MissingExtra:
    """Return the error for a parser that is not installed, with the line that installs it."""
    from leadsman.installation import install_command  # only for the message

    return MissingExtra(
        f"`leadsman check program` needs {package} for such files. Install it: {install_command('check')}"
    )


def parse(text: str, package: str, function: str = "language") -> TreeNode:
    """Return the root of a text's tree. A text with errors has a tree, too: what is between the errors is read."""
    return parser_of(package, function).parse(text.encode("utf-8", "replace")).root_node


def span_of(node: TreeNode) -> s.Span:
    """Return the place of a node. Columns are bytes."""
    start, end = node.start_point, node.end_point
    return s.Span(start.row + 1, start.column + 1, end.row + 1, end.column + 1)


def text_of(node: TreeNode | None) -> str:
    """Return the text of a node; empty for None."""
    return "" if node is None or node.text is None else node.text.decode("utf-8", "replace")


class Translator:
    """Translates the nodes of one language by its table."""

    def __init__(self, translations: Mapping[str, Translation]) -> None:
        self.translations = translations

    def node(self, node: TreeNode | None) -> s.Node:
        """Translate a node; nothing for None."""
        if node is None:
            return s.Other([], s.Span(1, 1, 1, 1))
        translate = self.translations.get(node.type)
        if translate is not None:
            return translate(self, node)
        return s.Other(self.nodes(node.named_children), span_of(node))

    def nodes(self, nodes: Iterable[TreeNode]) -> list[s.Node]:
        """Translate nodes but comments."""
        return [self.node(each) for each in nodes if "comment" not in each.type]

    def field(self, node: TreeNode, name: str) -> s.Node:
        """Translate the child of a field."""
        return self.node(node.child_by_field_name(name))

    def body(self, node: TreeNode | None) -> list[s.Node]:
        """Translate the statements of a block, or a single statement."""
        if node is None:
            return []
        translated = self.node(node)
        return translated.nodes if isinstance(translated, s.Other) else [translated]

    def arguments(self, node: TreeNode | None) -> list[s.Node]:
        """Translate the arguments of a call."""
        return self.nodes(node.named_children) if node is not None else []


def name(_: Translator, node: TreeNode) -> s.Node:
    """Translate an identifier."""
    return s.Name(text_of(node), span_of(node))


def first_child(translator: Translator, node: TreeNode) -> s.Node:
    """Translate a wrapper, such as a parenthesis, as what it holds."""
    return translator.node(node.named_children[0]) if node.named_children else s.Other([], span_of(node))


def block(translator: Translator, node: TreeNode) -> s.Node:
    """Translate a block; statements within statement lists stand directly in it."""
    found: list[s.Node] = []
    for each in translator.nodes(node.named_children):
        found += each.nodes if isinstance(each, s.Other) and len(node.named_children) == 1 else [each]
    return s.Other(found, span_of(node))


def string(_: Translator, node: TreeNode) -> s.Node:
    """Translate a text without interpolations; one with them is no value."""
    parts = []
    for each in node.named_children:
        if "interpolation" in each.type or "substitution" in each.type:
            return s.Other([], span_of(node))
        text = text_of(each)
        parts.append(ESCAPES.get(text[1:], text[1:]) if each.type == "escape_sequence" else text)
    return s.Literal("".join(parts), span_of(node))


def number(_: Translator, node: TreeNode) -> s.Node:
    """Translate a number with separators, prefixes and suffixes; another one is no value."""
    text = text_of(node).replace("_", "").rstrip("lLnuU")
    try:
        value: Any = float(text) if "." in text else int(text, 0)
    except ValueError:
        value = _float(text)
    return s.Literal(value, span_of(node)) if value is not None else s.Other([], span_of(node))


def _float(text: str) -> float | None:
    try:
        return float(text.rstrip("fFdD"))
    except ValueError:
        return None


def constant(value: s.Scalar) -> Translation:
    """Return the translation of true, false and null."""
    return lambda _, node: s.Literal(value, span_of(node))


def binary(translator: Translator, node: TreeNode) -> s.Node:
    """Translate an operator with two operands."""
    operator = node.child_by_field_name("operator")
    children = node.named_children
    left = node.child_by_field_name("left") or children[0]
    right = node.child_by_field_name("right") or children[-1]
    written = text_of(operator) if operator is not None else _between(node)
    return s.Binary({"||": "or"}.get(written, written), translator.node(left), translator.node(right), span_of(node))


def _between(node: TreeNode) -> str:
    return next((text_of(each) for each in node.children if not each.is_named), "?")


def negated(translator: Translator, node: TreeNode) -> s.Node:
    """Translate a sign before a number; of Go, also `&value` as the value."""
    operand = translator.node(node.named_children[-1]) if node.named_children else s.Other([], span_of(node))
    sign = text_of(node)[:1]
    if sign == "-" and isinstance(operand, s.Literal) and isinstance(operand.value, int | float):
        return s.Literal(-operand.value, span_of(node))
    return operand if sign in {"&", "+"} else s.Other([operand], span_of(node))


def leave(kind: str) -> Translation:
    """Return the translation of return, throw, break and continue."""

    def translate(translator: Translator, node: TreeNode) -> s.Node:
        value = translator.node(node.named_children[0]) if node.named_children else None
        return s.Return(kind, value, span_of(node))

    return translate


def branch(translator: Translator, node: TreeNode) -> s.Node:
    """Translate if and conditional expressions with fields condition, consequence and alternative."""
    condition = [translator.field(node, "condition")]
    bodies = [translator.body(node.child_by_field_name(each)) for each in ("consequence", "alternative")]
    return s.Branch(condition, bodies, span_of(node))


def while_loop(translator: Translator, node: TreeNode) -> s.Node:
    """Translate while and do."""
    body = [translator.field(node, "condition"), *translator.body(node.child_by_field_name("body"))]
    return s.Loop("while", None, body, span_of(node))
