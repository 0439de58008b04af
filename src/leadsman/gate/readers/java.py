"""Java, by tree-sitter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.code import grammar as g
from leadsman.gate.code import syntax as s
from leadsman.gate.reader import Reader

if TYPE_CHECKING:
    from tree_sitter import Node as TreeNode


def _read(text: str) -> list[s.Node]:
    return g.Translator(TRANSLATIONS).nodes(g.parse(text, "tree_sitter_java").named_children)


def _import(_: g.Translator, node: TreeNode) -> s.Node:
    path = g.text_of(node.named_children[0])
    if any(each.type == "asterisk" for each in node.children):
        return s.Import(path, "*", "*", g.span_of(node))
    module, _dot, name = path.rpartition(".")
    return s.Import(module, name, name, g.span_of(node))


def _class(t: g.Translator, node: TreeNode) -> s.Node:
    body = node.child_by_field_name("body")
    members = t.nodes(body.named_children) if body is not None else []
    bases = [
        g.text_of(each)
        for each in (node.child_by_field_name("superclass"), node.child_by_field_name("interfaces"))
        if each
    ]
    return s.Class(g.text_of(node.child_by_field_name("name")), bases, members, g.span_of(node), _annotations(t, node))


def _annotations(t: g.Translator, node: TreeNode) -> list[s.Node]:
    modifiers = next((each for each in node.children if each.type == "modifiers"), None)
    return [_annotation(t, each) for each in modifiers.named_children] if modifiers is not None else []


def _annotation(t: g.Translator, node: TreeNode) -> s.Node:
    arguments = t.arguments(node.child_by_field_name("arguments"))
    return s.Call(t.field(node, "name"), arguments, [], g.span_of(node))


def _method(t: g.Translator, node: TreeNode) -> s.Node:
    parameters = node.child_by_field_name("parameters")
    names = [_parameter(each) for each in (parameters.named_children if parameters is not None else [])]
    body = t.body(node.child_by_field_name("body"))
    return s.Function(g.text_of(node.child_by_field_name("name")), names, body, g.span_of(node), _annotations(t, node))


def _parameter(node: TreeNode) -> s.Parameter:
    if node.type == "identifier":
        return s.Parameter(g.text_of(node))
    return s.Parameter(g.text_of(node.child_by_field_name("name")), None, g.text_of(node.child_by_field_name("type")))


def _lambda(t: g.Translator, node: TreeNode) -> s.Node:
    parameters = node.child_by_field_name("parameters")
    if parameters is None or parameters.type == "identifier":
        names = [_parameter(parameters)] if parameters is not None else []
    else:
        names = [_parameter(each) for each in parameters.named_children]
    return s.Function("", names, t.body(node.child_by_field_name("body")), g.span_of(node))


def _declaration(t: g.Translator, node: TreeNode) -> s.Node:
    """Translate a field or local variable; a declaration without a value becomes no assignment."""
    declared = g.text_of(node.child_by_field_name("type"))
    found: list[s.Node] = []
    for each in node.children_by_field_name("declarator"):
        value = each.child_by_field_name("value")
        if value is not None:
            found.append(
                s.Assign([t.field(each, "name")], t.node(value), g.span_of(each), declared, is_declaration=True)
            )
    return found[0] if len(found) == 1 else s.Other(found, g.span_of(node))


def _resource(t: g.Translator, node: TreeNode) -> s.Node:
    value = node.child_by_field_name("value")
    if value is None:
        return s.Other([], g.span_of(node))
    declared = g.text_of(node.child_by_field_name("type"))
    return s.Assign([t.field(node, "name")], t.node(value), g.span_of(node), declared, is_declaration=True)


def _assign(t: g.Translator, node: TreeNode) -> s.Node:
    return s.Assign([t.field(node, "left")], t.field(node, "right"), g.span_of(node))


def _invocation(t: g.Translator, node: TreeNode) -> s.Node:
    target, name = node.child_by_field_name("object"), node.child_by_field_name("name")
    called: s.Node = s.Name(g.text_of(name), g.span_of(name)) if name is not None else s.Name("", g.span_of(node))
    if target is not None:
        called = s.Attribute(t.node(target), g.text_of(name), g.span_of(node))
    return s.Call(called, t.arguments(node.child_by_field_name("arguments")), [], g.span_of(node))


def _creation(t: g.Translator, node: TreeNode) -> s.Node:
    made = node.child_by_field_name("type")
    if made is not None and made.type == "generic_type":
        made = made.named_children[0]
    path = g.text_of(made).rpartition(".")[2]
    arguments = t.arguments(node.child_by_field_name("arguments"))
    body = [each for each in node.named_children if each.type == "class_body"]
    members = [s.Class("", [path], t.nodes(each.named_children), g.span_of(each)) for each in body]
    return s.Call(s.Name(path, g.span_of(node)), [*arguments, *members], [], g.span_of(node))


def _attribute(t: g.Translator, node: TreeNode) -> s.Node:
    return s.Attribute(t.field(node, "object"), g.text_of(node.child_by_field_name("field")), g.span_of(node))


def _for(t: g.Translator, node: TreeNode) -> s.Node:
    """Translate a counted loop, as a loop over `range` up to the right side of its condition."""
    condition = node.child_by_field_name("condition")
    bound = t.node(condition.child_by_field_name("right")) if condition is not None else None
    iterable = s.Call(s.Name("range", g.span_of(node)), [bound], [], g.span_of(node)) if bound is not None else None
    return s.Loop("for", iterable, t.body(node.child_by_field_name("body")), g.span_of(node))


def _for_each(t: g.Translator, node: TreeNode) -> s.Node:
    return s.Loop("for", t.field(node, "value"), t.body(node.child_by_field_name("body")), g.span_of(node))


def _try(t: g.Translator, node: TreeNode) -> s.Node:
    resources = node.child_by_field_name("resources")
    opened = t.nodes(resources.named_children) if resources is not None else []
    handlers = [_handler(t, each) for each in node.named_children if each.type == "catch_clause"]
    final = [
        inner for each in node.named_children if each.type == "finally_clause" for inner in t.nodes(each.named_children)
    ]
    return s.Try([*opened, *t.body(node.child_by_field_name("body"))], handlers, final, g.span_of(node))


def _handler(t: g.Translator, node: TreeNode) -> s.Handler:
    caught = next((each for each in node.named_children if each.type == "catch_formal_parameter"), None)
    types = [each for each in (caught.named_children if caught is not None else []) if each.type == "catch_type"]
    names = [g.text_of(each) for caught_type in types for each in caught_type.named_children]
    variable = g.text_of(caught.child_by_field_name("name")) if caught is not None else ""
    return s.Handler(names, variable, t.body(node.child_by_field_name("body")), g.span_of(node))


def _cast(t: g.Translator, node: TreeNode) -> s.Node:
    return t.field(node, "value")


TRANSLATIONS: dict[str, g.Translation] = {
    "import_declaration": _import,
    "class_declaration": _class,
    "record_declaration": _class,
    "enum_declaration": _class,
    "interface_declaration": _class,
    "method_declaration": _method,
    "constructor_declaration": _method,
    "lambda_expression": _lambda,
    "field_declaration": _declaration,
    "local_variable_declaration": _declaration,
    "resource": _resource,
    "assignment_expression": _assign,
    "method_invocation": _invocation,
    "object_creation_expression": _creation,
    "field_access": _attribute,
    "for_statement": _for,
    "enhanced_for_statement": _for_each,
    "while_statement": g.while_loop,
    "do_statement": g.while_loop,
    "if_statement": g.branch,
    "ternary_expression": g.branch,
    "try_statement": _try,
    "try_with_resources_statement": _try,
    "return_statement": g.leave("return"),
    "throw_statement": g.leave("raise"),
    "break_statement": g.leave("break"),
    "continue_statement": g.leave("continue"),
    "block": g.block,
    "constructor_body": g.block,
    "expression_statement": g.first_child,
    "parenthesized_expression": g.first_child,
    "cast_expression": _cast,
    "identifier": g.name,
    "type_identifier": g.name,
    "this": g.name,
    "string_literal": g.string,
    "decimal_integer_literal": g.number,
    "hex_integer_literal": g.number,
    "decimal_floating_point_literal": g.number,
    "true": g.constant(value=True),
    "false": g.constant(value=False),
    "null_literal": g.constant(value=None),
    "binary_expression": g.binary,
    "unary_expression": g.negated,
    "array_initializer": lambda t, node: s.Sequence(t.nodes(node.named_children), g.span_of(node)),
}

READER = Reader(language="java", suffixes=(".java",), is_program=True, comment="//", read=_read)
