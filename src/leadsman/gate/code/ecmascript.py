"""TypeScript and JavaScript, by tree-sitter: both have one translation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.code import grammar as g
from leadsman.gate.code import syntax as s

if TYPE_CHECKING:
    from tree_sitter import Node as TreeNode


def translate(text: str, grammar: str) -> list[s.Node]:
    """Return the program in the one syntax. `grammar`: language_typescript, or language_tsx for all others."""
    return g.Translator(TRANSLATIONS).nodes(g.parse(text, "tree_sitter_typescript", grammar).named_children)


def _import(t: g.Translator, node: TreeNode) -> s.Node:
    source = t.field(node, "source")
    module = str(source.value) if isinstance(source, s.Literal) else ""
    clause = next((each for each in node.named_children if each.type == "import_clause"), None)
    found = [
        _imported(module, each) for part in (clause.named_children if clause else []) for each in _specifiers(part)
    ]
    return s.Other([*found], g.span_of(node))


def _specifiers(node: TreeNode) -> list[TreeNode]:
    return node.named_children if node.type == "named_imports" else [node]


def _imported(module: str, node: TreeNode) -> s.Node:
    if node.type == "import_specifier":
        name = g.text_of(node.child_by_field_name("name"))
        return s.Import(module, name, g.text_of(node.child_by_field_name("alias")) or name, g.span_of(node))
    whole = node.named_children[-1] if node.named_children else node
    return s.Import(module, "", g.text_of(whole), g.span_of(node))


def _variable(t: g.Translator, node: TreeNode) -> s.Node:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None or value is None:
        return s.Other([], g.span_of(node))
    translated = t.node(value)
    if isinstance(translated, s.Function):
        translated.name = g.text_of(name)
        return translated
    module = _required(translated)
    if module:
        names = [g.text_of(each) for each in name.named_children] if name.type == "object_pattern" else [""]
        found = [s.Import(module, each, each or g.text_of(name), g.span_of(node)) for each in names]
        return s.Other([*found], g.span_of(node))
    return s.Assign([t.node(name)], translated, g.span_of(node))


def _required(node: s.Node) -> str:
    """Return the module of `require('module')`; empty for anything else."""
    if isinstance(node, s.Call) and s.called_name(node) == "require" and len(node.arguments) == 1:
        argument = node.arguments[0]
        return str(argument.value) if isinstance(argument, s.Literal) else ""
    return ""


def _class(t: g.Translator, node: TreeNode) -> s.Node:
    body = node.child_by_field_name("body")
    members = t.nodes(body.named_children) if body is not None else []
    decorators = [t.node(each) for each in node.named_children if each.type == "decorator"]
    return s.Class(g.text_of(node.child_by_field_name("name")), [], members, g.span_of(node), decorators)


def _function(t: g.Translator, node: TreeNode) -> s.Node:
    single = node.child_by_field_name("parameter")
    listed = node.child_by_field_name("parameters")
    names = [s.Parameter(g.text_of(single))] if single is not None else []
    names += [
        _parameter(t, each) for each in (listed.named_children if listed is not None else []) if each.type != "comment"
    ]
    name = g.text_of(node.child_by_field_name("name"))
    return s.Function(name, names, t.body(node.child_by_field_name("body")), g.span_of(node))


def _parameter(t: g.Translator, node: TreeNode) -> s.Parameter:
    pattern = node.child_by_field_name("pattern")
    value = node.child_by_field_name("value")
    return s.Parameter(
        g.text_of(pattern if pattern is not None else node), t.node(value) if value is not None else None
    )


def _field(t: g.Translator, node: TreeNode) -> s.Node:
    value = node.child_by_field_name("value")
    if value is None:
        return s.Other([], g.span_of(node))
    name = node.child_by_field_name("name")
    translated = t.node(value)
    if isinstance(translated, s.Function):
        translated.name = g.text_of(name)
        return translated
    return s.Assign([s.Name(g.text_of(name), g.span_of(node))], translated, g.span_of(node))


def _assign(t: g.Translator, node: TreeNode) -> s.Node:
    target, value = t.field(node, "left"), t.field(node, "right")
    if isinstance(value, s.Function):
        value.name = s.dotted(target).rpartition(".")[2]  # exports.handler = async (event) => ...
        return value
    return s.Assign([target], value, g.span_of(node))


def _call(t: g.Translator, node: TreeNode) -> s.Node:
    called = node.child_by_field_name("function") or node.child_by_field_name("constructor")
    return s.Call(t.node(called), t.arguments(node.child_by_field_name("arguments")), [], g.span_of(node))


def _awaited(t: g.Translator, node: TreeNode) -> s.Node:
    value = g.first_child(t, node)
    if isinstance(value, s.Call):
        value.is_awaited = True
    return value


def _attribute(t: g.Translator, node: TreeNode) -> s.Node:
    return s.Attribute(t.field(node, "object"), g.text_of(node.child_by_field_name("property")), g.span_of(node))


def _subscript(t: g.Translator, node: TreeNode) -> s.Node:
    return s.Subscript(t.field(node, "object"), t.field(node, "index"), g.span_of(node))


def _object(t: g.Translator, node: TreeNode) -> s.Node:
    pairs: list[tuple[s.Node | None, s.Node]] = []
    for each in node.named_children:
        match each.type:
            case "pair":
                pairs.append((_key(t, each.child_by_field_name("key")), t.field(each, "value")))
            case "spread_element":
                pairs.append((None, g.first_child(t, each)))
            case "shorthand_property_identifier":
                text = g.text_of(each)
                pairs.append((s.Literal(text, g.span_of(each)), s.Name(text, g.span_of(each))))
            case "method_definition":
                pairs.append((s.Literal(g.text_of(each.child_by_field_name("name")), g.span_of(each)), t.node(each)))
    return s.Mapping(pairs, g.span_of(node))


def _key(t: g.Translator, node: TreeNode | None) -> s.Node:
    if node is not None and node.type == "property_identifier":
        return s.Literal(g.text_of(node), g.span_of(node))
    return t.node(node)


def _for_in(t: g.Translator, node: TreeNode) -> s.Node:
    return s.Loop("for", t.field(node, "right"), t.body(node.child_by_field_name("body")), g.span_of(node))


def _for(t: g.Translator, node: TreeNode) -> s.Node:
    condition = node.child_by_field_name("condition")
    test = (
        condition.named_children[0] if condition is not None and condition.type == "expression_statement" else condition
    )
    bound = test.child_by_field_name("right") if test is not None else None
    iterable = (
        s.Call(s.Name("range", g.span_of(node)), [t.node(bound)], [], g.span_of(node)) if bound is not None else None
    )
    return s.Loop("for", iterable, t.body(node.child_by_field_name("body")), g.span_of(node))


def _try(t: g.Translator, node: TreeNode) -> s.Node:
    caught = node.child_by_field_name("handler")
    handlers = []
    if caught is not None:
        body = t.body(caught.child_by_field_name("body"))
        handlers.append(s.Handler([], g.text_of(caught.child_by_field_name("parameter")), body, g.span_of(caught)))
    final = t.body(node.child_by_field_name("finalizer"))
    return s.Try(t.body(node.child_by_field_name("body")), handlers, final, g.span_of(node))


def _switch(t: g.Translator, node: TreeNode) -> s.Node:
    body = node.child_by_field_name("body")
    return s.Branch(
        [], [t.nodes(each.named_children) for each in (body.named_children if body else [])], g.span_of(node)
    )


TRANSLATIONS: dict[str, g.Translation] = {
    "import_statement": _import,
    "variable_declarator": _variable,
    "class_declaration": _class,
    "abstract_class_declaration": _class,
    "function_declaration": _function,
    "function_expression": _function,
    "generator_function_declaration": _function,
    "arrow_function": _function,
    "method_definition": _function,
    "public_field_definition": _field,
    "field_definition": _field,
    "assignment_expression": _assign,
    "call_expression": _call,
    "new_expression": _call,
    "await_expression": _awaited,
    "member_expression": _attribute,
    "subscript_expression": _subscript,
    "object": _object,
    "array": lambda t, node: s.Sequence(t.nodes(node.named_children), g.span_of(node)),
    "for_in_statement": _for_in,
    "for_statement": _for,
    "while_statement": g.while_loop,
    "do_statement": g.while_loop,
    "if_statement": g.branch,
    "ternary_expression": g.branch,
    "switch_statement": _switch,
    "try_statement": _try,
    "return_statement": g.leave("return"),
    "throw_statement": g.leave("raise"),
    "break_statement": g.leave("break"),
    "continue_statement": g.leave("continue"),
    "yield_expression": g.leave("yield"),
    "statement_block": g.block,
    "export_statement": lambda t, node: s.Other(t.nodes(node.named_children), g.span_of(node)),
    "expression_statement": g.first_child,
    "parenthesized_expression": g.first_child,
    "as_expression": g.first_child,
    "non_null_expression": g.first_child,
    "satisfies_expression": g.first_child,
    "identifier": g.name,
    "property_identifier": g.name,
    "this": g.name,
    "string": g.string,
    "template_string": g.string,
    "number": g.number,
    "true": g.constant(value=True),
    "false": g.constant(value=False),
    "null": g.constant(value=None),
    "undefined": g.constant(value=None),
    "binary_expression": g.binary,
    "unary_expression": g.negated,
}
