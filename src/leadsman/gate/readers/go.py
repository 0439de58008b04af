"""Go, by tree-sitter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.code import grammar as g
from leadsman.gate.code import syntax as s
from leadsman.gate.code.conversions import GO_DURATIONS_MS
from leadsman.gate.reader import Reader

if TYPE_CHECKING:
    from tree_sitter import Node as TreeNode

MAPS = ("ConfigMap", "map[")
"""Types whose literals are mappings; other literals create an object."""


def _read(text: str) -> list[s.Node]:
    return g.Translator(TRANSLATIONS).nodes(g.parse(text, "tree_sitter_go").named_children)


def _import(t: g.Translator, node: TreeNode) -> s.Node:
    path = t.field(node, "path")
    module = str(path.value) if isinstance(path, s.Literal) else ""
    alias = g.text_of(node.child_by_field_name("name")) or _package(module)
    return s.Import(module, "", alias, g.span_of(node))


def _package(module: str) -> str:
    """Return the name of a module's package: its last part without a version, `go-` and `-go`."""
    parts = [each for each in module.split("/") if not (each[:1] == "v" and each[1:].isdigit())]
    return parts[-1].removesuffix("-go").removeprefix("go-").partition(".")[0] if parts else ""


def _function(t: g.Translator, node: TreeNode) -> s.Node:
    listed = node.child_by_field_name("parameters")
    names = [
        s.Parameter(g.text_of(name), None, g.text_of(each.child_by_field_name("type")))
        for each in (listed.named_children if listed is not None else [])
        for name in each.children_by_field_name("name")
    ]
    body = t.body(node.child_by_field_name("body"))
    return s.Function(g.text_of(node.child_by_field_name("name")), names, body, g.span_of(node))


def _assign(t: g.Translator, node: TreeNode) -> s.Node:
    left, right = (_listed(node.child_by_field_name(each)) for each in ("left", "right"))
    return _assigned(t, left, right, node)


def _declaration(t: g.Translator, node: TreeNode) -> s.Node:
    return _assigned(t, node.children_by_field_name("name"), _listed(node.child_by_field_name("value")), node)


def _assigned(t: g.Translator, left: list[TreeNode], right: list[TreeNode], node: TreeNode) -> s.Node:
    """Return one assignment for each value; of `x, err := f()` the one to x."""
    pairs = [s.Assign([t.node(a)], t.node(b), g.span_of(node)) for a, b in zip(left, right, strict=False)]
    return pairs[0] if len(pairs) == 1 else s.Other([*pairs], g.span_of(node))


def _listed(node: TreeNode | None) -> list[TreeNode]:
    return [] if node is None else node.named_children if node.type == "expression_list" else [node]


def _call(t: g.Translator, node: TreeNode) -> s.Node:
    arguments = t.arguments(node.child_by_field_name("arguments"))
    return s.Call(t.field(node, "function"), arguments, [], g.span_of(node))


def _attribute(t: g.Translator, node: TreeNode) -> s.Node:
    field, operand = g.text_of(node.child_by_field_name("field")), node.child_by_field_name("operand")
    if g.text_of(operand) == "time" and field in GO_DURATIONS_MS:
        return s.Literal(GO_DURATIONS_MS[field], g.span_of(node))
    return s.Attribute(t.node(operand), field, g.span_of(node))


def _literal(t: g.Translator, node: TreeNode) -> s.Node:
    made = node.child_by_field_name("type")
    mapping = t.field(node, "body")
    if made is None or g.text_of(made).rpartition(".")[2].startswith(MAPS) or not isinstance(mapping, s.Mapping):
        return mapping
    return s.Call(_type_name(made), [mapping], [], g.span_of(node))


def _type_name(node: TreeNode) -> s.Node:
    package, dot, name = g.text_of(node).rpartition(".")
    span = g.span_of(node)
    return s.Attribute(s.Name(package, span), name, span) if dot else s.Name(name, span)


def _literal_body(t: g.Translator, node: TreeNode) -> s.Node:
    elements = [each for each in node.named_children if each.type == "keyed_element"]
    if not elements and node.named_children:
        return s.Sequence(t.nodes(node.named_children), g.span_of(node))
    return s.Mapping([_pair(t, each) for each in elements], g.span_of(node))


def _pair(t: g.Translator, node: TreeNode) -> tuple[s.Node | None, s.Node]:
    key, value = t.field(node, "key"), t.field(node, "value")
    return (s.Literal(key.name, key.span) if isinstance(key, s.Name) else key), value


def _for(t: g.Translator, node: TreeNode) -> s.Node:
    clause = next((each for each in node.named_children if each.type in {"range_clause", "for_clause"}), None)
    body = t.body(node.child_by_field_name("body"))
    if clause is None:
        return s.Loop("while", None, body, g.span_of(node))
    if clause.type == "range_clause":
        return s.Loop("for", t.field(clause, "right"), body, g.span_of(node))
    condition = clause.child_by_field_name("condition")
    bound = t.node(condition.child_by_field_name("right")) if condition is not None else None
    iterable = s.Call(s.Name("range", g.span_of(node)), [bound], [], g.span_of(node)) if bound is not None else None
    return s.Loop("for", iterable, body, g.span_of(node))


def _if(t: g.Translator, node: TreeNode) -> s.Node:
    """Translate an if, with the statement before its condition: `if err := send(); err != nil`."""
    branch, first = g.branch(t, node), node.child_by_field_name("initializer")
    return branch if first is None else s.Other([t.node(first), branch], g.span_of(node))


def _switch(t: g.Translator, node: TreeNode) -> s.Node:
    return s.Branch([], [t.nodes(each.named_children) for each in node.named_children], g.span_of(node))


TRANSLATIONS: dict[str, g.Translation] = {
    "import_spec": _import,
    "function_declaration": _function,
    "method_declaration": _function,
    "func_literal": _function,
    "short_var_declaration": _assign,
    "assignment_statement": _assign,
    "var_spec": _declaration,
    "const_spec": _declaration,
    "call_expression": _call,
    "selector_expression": _attribute,
    "composite_literal": _literal,
    "literal_value": _literal_body,
    "literal_element": g.first_child,
    "for_statement": _for,
    "if_statement": _if,
    "expression_switch_statement": _switch,
    "type_switch_statement": _switch,
    "select_statement": _switch,
    "return_statement": g.leave("return"),
    "break_statement": g.leave("break"),
    "continue_statement": g.leave("continue"),
    "block": g.block,
    "statement_list": lambda t, node: s.Other(t.nodes(node.named_children), g.span_of(node)),
    "expression_statement": g.first_child,
    "parenthesized_expression": g.first_child,
    "identifier": g.name,
    "package_identifier": g.name,
    "type_identifier": g.name,
    "field_identifier": g.name,
    "interpreted_string_literal": g.string,
    "raw_string_literal": g.string,
    "int_literal": g.number,
    "float_literal": g.number,
    "true": g.constant(value=True),
    "false": g.constant(value=False),
    "nil": g.constant(value=None),
    "binary_expression": g.binary,
    "unary_expression": g.negated,
}

READER = Reader(language="go", suffixes=(".go",), is_program=True, comment="//", read=_read)
