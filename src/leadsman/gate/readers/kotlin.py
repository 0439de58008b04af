"""Kotlin, by tree-sitter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.code import grammar as g
from leadsman.gate.code import syntax as s
from leadsman.gate.reader import Reader

if TYPE_CHECKING:
    from tree_sitter import Node as TreeNode


def _read(text: str) -> list[s.Node]:
    return g.Translator(TRANSLATIONS).nodes(g.parse(text, "tree_sitter_kotlin").named_children)


def _import(_: g.Translator, node: TreeNode) -> s.Node:
    path = g.text_of(_child(node, "qualified_identifier"))
    if g.text_of(node).rstrip().endswith(".*"):
        return s.Import(path, "*", "*", g.span_of(node))
    module, _dot, name = path.rpartition(".")
    alias = [g.text_of(each) for each in node.named_children if each.type == "identifier"]
    return s.Import(module, name, alias[-1] if alias else name, g.span_of(node))


def _child(node: TreeNode, *types: str) -> TreeNode | None:
    return next((each for each in node.named_children if each.type in types), None)


def _class(t: g.Translator, node: TreeNode) -> s.Node:
    body = _child(node, "class_body", "enum_class_body")
    members = t.nodes(body.named_children) if body is not None else []
    bases = [g.text_of(each) for each in node.named_children if each.type == "delegation_specifiers"]
    return s.Class(g.text_of(node.child_by_field_name("name")), bases, members, g.span_of(node), _annotations(t, node))


def _companion(t: g.Translator, node: TreeNode) -> s.Node:
    """Translate a companion object: its members are those of the class."""
    body = _child(node, "class_body")
    return s.Other(t.nodes(body.named_children) if body is not None else [], g.span_of(node))


def _annotations(t: g.Translator, node: TreeNode) -> list[s.Node]:
    modifiers = _child(node, "modifiers")
    annotations = (
        [each for each in modifiers.named_children if each.type == "annotation"] if modifiers is not None else []
    )
    return [_annotation(t, each) for each in annotations]


def _annotation(t: g.Translator, node: TreeNode) -> s.Node:
    inner = _child(node, "constructor_invocation", "user_type") or node
    named = _child(inner, "user_type") or inner
    return s.Call(
        s.Name(g.text_of(named), g.span_of(named)), t.arguments(_child(inner, "value_arguments")), [], g.span_of(node)
    )


def _function(t: g.Translator, node: TreeNode) -> s.Node:
    body = _child(node, "function_body")
    statements = t.body(body.named_children[0]) if body is not None and body.named_children else []
    if body is not None and g.text_of(body).startswith("="):
        statements = [s.Return("return", each, each.span) for each in statements[:1]]
    name = g.text_of(node.child_by_field_name("name"))
    return s.Function(name, _parameters(t, node), statements, g.span_of(node), _annotations(t, node))


def _parameters(t: g.Translator, node: TreeNode) -> list[s.Parameter]:
    """Return the parameters; a default stands after its parameter, as its neighbour."""
    found: list[s.Parameter] = []
    listed = _child(node, "function_value_parameters")
    for each in listed.named_children if listed is not None else []:
        if each.type == "parameter":
            found.append(s.Parameter(g.text_of(_child(each, "identifier")), None, g.text_of(_child(each, "user_type"))))
        elif found and each.type != "parameter_modifiers":
            found[-1].default = t.node(each)
    return found


def _lambda(t: g.Translator, node: TreeNode) -> s.Node:
    listed = _child(node, "lambda_parameters")
    names = [
        s.Parameter(g.text_of(each.named_children[0] if each.named_children else each))
        for each in (listed.named_children if listed is not None else [])
    ]
    body = [each for each in node.named_children if each.type != "lambda_parameters"]
    return s.Function("", names or [s.Parameter("it")], t.nodes(body), g.span_of(node))


def _property(t: g.Translator, node: TreeNode) -> s.Node:
    declared = _child(node, "variable_declaration")
    values = [each for each in node.named_children if each.type not in NO_VALUES]
    if declared is None or not values:
        return s.Other(t.nodes(values), g.span_of(node))
    variable = declared.named_children[0]
    target = s.Name(g.text_of(variable), g.span_of(variable))
    return s.Assign([target], t.node(values[-1]), g.span_of(node), is_declaration=True)


NO_VALUES = frozenset({"modifiers", "variable_declaration", "getter", "setter", "type_parameters", "user_type"})


def _assign(t: g.Translator, node: TreeNode) -> s.Node:
    return s.Assign([t.field(node, "left")], t.field(node, "right"), g.span_of(node))


def _index(t: g.Translator, node: TreeNode) -> s.Node:
    return s.Subscript(t.node(node.named_children[0]), t.node(node.named_children[-1]), g.span_of(node))


def _call(t: g.Translator, node: TreeNode) -> s.Node:
    called = t.node(node.named_children[0])
    arguments: list[s.Node] = []
    keywords: list[tuple[str, s.Node]] = []
    for each in node.named_children[1:]:
        if each.type == "value_arguments":
            for argument in each.named_children:
                _argument(t, argument, arguments, keywords)
        elif each.type in {"annotated_lambda", "lambda_literal"}:
            arguments.append(t.node(each))
    if isinstance(called, s.Call) and not _child(node, "value_arguments"):  # f(x) { ... } is a call within a call
        called.arguments += arguments
        return called
    return s.Call(called, arguments, keywords, g.span_of(node))


def _argument(t: g.Translator, node: TreeNode, arguments: list[s.Node], keywords: list[tuple[str, s.Node]]) -> None:
    parts = node.named_children
    if len(parts) == 2 and parts[0].type == "identifier" and "=" in g.text_of(node):  # noqa: PLR2004 - name = value
        keywords.append((g.text_of(parts[0]), t.node(parts[1])))
    elif parts:
        arguments.append(t.node(parts[-1]))


def _attribute(t: g.Translator, node: TreeNode) -> s.Node:
    return s.Attribute(t.node(node.named_children[0]), g.text_of(node.named_children[-1]), g.span_of(node))


def _infix(t: g.Translator, node: TreeNode) -> s.Node:
    left, operator, right = (node.named_children[each] for each in (0, len(node.named_children) // 2, -1))
    return s.Binary(g.text_of(operator), t.node(left), t.node(right), g.span_of(node))


def _for(t: g.Translator, node: TreeNode) -> s.Node:
    parts = [
        each for each in node.named_children if each.type not in {"variable_declaration", "multi_variable_declaration"}
    ]
    body = t.body(parts[-1]) if len(parts) > 1 else []
    return s.Loop("for", t.node(parts[0]) if parts else None, body, g.span_of(node))


def _while(t: g.Translator, node: TreeNode) -> s.Node:
    return s.Loop("while", None, t.nodes(node.named_children), g.span_of(node))


def _if(t: g.Translator, node: TreeNode) -> s.Node:
    parts = node.named_children
    return s.Branch([t.node(parts[0])], [t.body(each) for each in parts[1:]] or [[]], g.span_of(node))


def _when(t: g.Translator, node: TreeNode) -> s.Node:
    return s.Branch([], [t.body(each) for each in node.named_children], g.span_of(node))


def _try(t: g.Translator, node: TreeNode) -> s.Node:
    handlers = [_handler(t, each) for each in node.named_children if each.type == "catch_block"]
    final = [
        inner for each in node.named_children if each.type == "finally_block" for inner in t.nodes(each.named_children)
    ]
    return s.Try(t.body(_child(node, "block")), handlers, final, g.span_of(node))


def _handler(t: g.Translator, node: TreeNode) -> s.Handler:
    name, caught = g.text_of(_child(node, "identifier")), g.text_of(_child(node, "user_type"))
    return s.Handler([caught], name, t.body(_child(node, "block")), g.span_of(node))


TRANSLATIONS: dict[str, g.Translation] = {
    "import": _import,
    "class_declaration": _class,
    "object_declaration": _class,
    "companion_object": _companion,
    "function_declaration": _function,
    "lambda_literal": _lambda,
    "annotated_lambda": g.first_child,
    "property_declaration": _property,
    "assignment": _assign,
    "index_expression": _index,
    "call_expression": _call,
    "navigation_expression": _attribute,
    "infix_expression": _infix,
    "for_statement": _for,
    "while_statement": _while,
    "do_while_statement": _while,
    "if_expression": _if,
    "when_expression": _when,
    "try_expression": _try,
    "return_expression": g.leave("return"),
    "throw_expression": g.leave("raise"),
    "break_expression": g.leave("break"),
    "block": g.block,
    "parenthesized_expression": g.first_child,
    "as_expression": g.first_child,
    "identifier": lambda _, node: _word(node),
    "this_expression": g.name,
    "string_literal": g.string,
    "number_literal": g.number,
    "float_literal": g.number,
    "null": g.constant(value=None),
    "binary_expression": g.binary,
    "unary_expression": g.negated,
    "collection_literal": lambda t, node: s.Sequence(t.nodes(node.named_children), g.span_of(node)),
}


def _word(node: TreeNode) -> s.Node:
    """Translate an identifier; the grammar has no literals for true and false."""
    text = g.text_of(node)
    if text in {"true", "false"}:
        return s.Literal(text == "true", g.span_of(node))
    return s.Name(text, g.span_of(node))


READER = Reader(language="kotlin", suffixes=(".kt", ".kts"), is_program=True, comment="//", read=_read)
