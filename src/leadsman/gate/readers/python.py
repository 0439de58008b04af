"""Python, by the interpreter's own parser. Nothing is executed."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING

from leadsman.gate.code import syntax as s
from leadsman.gate.reader import Reader, UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "/",
    ast.Pow: "**",
    ast.BitOr: "|",
    ast.Or: "or",
    ast.And: "and",
}


def _read(text: str) -> list[s.Node]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the program's own escapes, which are not ours to report
            tree = ast.parse(text)
        return _body(tree.body)
    except SyntaxError as error:
        raise UnreadableFile(f"not Python: {error.msg}, line {error.lineno}") from error
    except (RecursionError, MemoryError, ValueError) as error:
        raise UnreadableFile(f"too deep to parse, or not text: {error}") from error


def _span(node: ast.AST) -> s.Span:
    """Return the place of a node. Columns are bytes there; for other text than ASCII they may be later."""
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    end_line = getattr(node, "end_lineno", None) or line
    end_column = getattr(node, "end_col_offset", None) or column
    return s.Span(line, column + 1, end_line, end_column + 1)


def _body(nodes: Iterable[ast.AST]) -> list[s.Node]:
    return [each for node in nodes for each in _statement(node)]


def _statement(node: ast.AST) -> list[s.Node]:
    if isinstance(node, ast.Expr):
        return [_node(node.value)]
    if isinstance(node, ast.Import):
        return [s.Import(each.name, "", each.asname or each.name, _span(node)) for each in node.names]
    if isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        return [s.Import(module, each.name, each.asname or each.name, _span(node)) for each in node.names]
    return [_node(node)]


def _node(node: ast.AST) -> s.Node:
    translate = TRANSLATIONS.get(type(node))
    if translate:
        return translate(node)
    return s.Other(
        [_node(child) for child in ast.iter_child_nodes(node) if not isinstance(child, SKIPPED)], _span(node)
    )


def _constant(node: ast.Constant) -> s.Node:
    value = node.value
    return s.Literal(value, _span(node)) if value is None or isinstance(value, SCALARS) else s.Other([], _span(node))


def _call(node: ast.Call) -> s.Node:
    arguments = [_node(each) for each in node.args]
    keywords = [(each.arg or "", _node(each.value)) for each in node.keywords]
    if isinstance(node.func, ast.Name) and node.func.id == "dict" and len(node.args) <= 1:
        return _dict_call(node, arguments, keywords)
    return s.Call(_node(node.func), arguments, keywords, _span(node))


def _dict_call(node: ast.Call, arguments: list[s.Node], keywords: list[tuple[str, s.Node]]) -> s.Node:
    spread: list[tuple[s.Node | None, s.Node]] = [(None, each) for each in arguments]
    named = [(s.Literal(name, value.span) if name else None, value) for name, value in keywords]
    return s.Mapping([*spread, *named], _span(node))


def _awaited(node: ast.Await) -> s.Node:
    value = _node(node.value)
    if isinstance(value, s.Call):
        value.is_awaited = True
    return value


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> s.Node:
    decorators = [_node(each) for each in node.decorator_list]
    return s.Function(node.name, _parameters(node.args), _body(node.body), _span(node), decorators)


def _parameters(arguments: ast.arguments) -> list[s.Parameter]:
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    pairs = [*zip(positional, [*defaults, *arguments.defaults], strict=True)]
    pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return [s.Parameter(each.arg, _node(default) if default else None, _type(each)) for each, default in pairs]


def _type(argument: ast.arg) -> str:
    annotation = argument.annotation
    return annotation.id if isinstance(annotation, ast.Name) else ""


def _class(node: ast.ClassDef) -> s.Node:
    bases = [s.dotted(_node(each)) for each in node.bases]
    decorators = [_node(each) for each in node.decorator_list]
    return s.Class(node.name, bases, _body(node.body), _span(node), decorators)


def _assign(node: ast.Assign) -> s.Node:
    return s.Assign([_node(each) for each in node.targets], _node(node.value), _span(node))


def _annotated(node: ast.AnnAssign) -> s.Node:
    if node.value is None:
        return s.Other([], _span(node))
    return s.Assign([_node(node.target)], _node(node.value), _span(node))


def _augmented(node: ast.AugAssign) -> s.Node:
    target = _node(node.target)
    value = s.Binary(OPERATORS.get(type(node.op), "?"), target, _node(node.value), _span(node))
    return s.Assign([target], value, _span(node))


def _walrus(node: ast.NamedExpr) -> s.Node:
    return s.Assign([_node(node.target)], _node(node.value), _span(node))


def _loop(node: ast.For | ast.AsyncFor) -> s.Node:
    return s.Loop("for", _node(node.iter), [*_body(node.body), *_body(node.orelse)], _span(node))


def _while(node: ast.While) -> s.Node:
    return s.Loop("while", None, [_node(node.test), *_body(node.body), *_body(node.orelse)], _span(node))


def _comprehension(node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> s.Node:
    return s.Loop("comprehension", _node(node.generators[0].iter), [_node(node.elt)], _span(node))


def _dict_comprehension(node: ast.DictComp) -> s.Node:
    return s.Loop("comprehension", _node(node.generators[0].iter), [_node(node.key), _node(node.value)], _span(node))


def _if(node: ast.If) -> s.Node:
    return s.Branch([_node(node.test)], [_body(node.body), _body(node.orelse)], _span(node))


def _conditional(node: ast.IfExp) -> s.Node:
    return s.Branch([_node(node.test)], [[_node(node.body)], [_node(node.orelse)]], _span(node))


def _match(node: ast.Match) -> s.Node:
    return s.Branch([_node(node.subject)], [_body(case.body) for case in node.cases], _span(node))


def _try(node: ast.Try) -> s.Node:
    handlers = [s.Handler(_caught(each.type), each.name or "", _body(each.body), _span(each)) for each in node.handlers]
    return s.Try(_body(node.body), handlers, [*_body(node.orelse), *_body(node.finalbody)], _span(node))


def _caught(node: ast.expr | None) -> list[str]:
    nodes = node.elts if isinstance(node, ast.Tuple) else [node] if node else []
    return [s.dotted(_node(each)) for each in nodes]


def _with(node: ast.With | ast.AsyncWith) -> s.Node:
    opened: list[s.Node] = []
    for item in node.items:
        context = _node(item.context_expr)
        target = item.optional_vars
        opened.append(s.Assign([_node(target)], context, _span(context_of(item))) if target else context)
    return s.Other([*opened, *_body(node.body)], _span(node))


def context_of(item: ast.withitem) -> ast.expr:
    """Return the expression that a `with` opens."""
    return item.context_expr


def _mapping(node: ast.Dict) -> s.Node:
    pairs = [(_node(key) if key else None, _node(value)) for key, value in zip(node.keys, node.values, strict=True)]
    return s.Mapping(pairs, _span(node))


def _sequence(node: ast.List | ast.Tuple | ast.Set) -> s.Node:
    return s.Sequence([_node(each) for each in node.elts], _span(node))


def _binary(node: ast.BinOp) -> s.Node:
    return s.Binary(OPERATORS.get(type(node.op), "?"), _node(node.left), _node(node.right), _span(node))


def _boolean(node: ast.BoolOp) -> s.Node:
    result = _node(node.values[0])
    for value in node.values[1:]:
        result = s.Binary(OPERATORS[type(node.op)], result, _node(value), _span(node))
    return result


def _negated(node: ast.UnaryOp) -> s.Node:
    operand = _node(node.operand)
    if isinstance(node.op, ast.USub) and isinstance(operand, s.Literal) and isinstance(operand.value, int | float):
        return s.Literal(-operand.value, _span(node))
    return s.Other([operand], _span(node))


def _exit(kind: str) -> Callable[..., s.Node]:
    def translate(node: ast.AST) -> s.Node:
        value = getattr(node, "value", None) or getattr(node, "exc", None)
        return s.Return(kind, _node(value) if value else None, _span(node))

    return translate


def _formatted(node: ast.JoinedStr) -> s.Node:
    parts = node.values
    if all(isinstance(each, ast.Constant) for each in parts):
        text = "".join(str(each.value) for each in parts if isinstance(each, ast.Constant))
        return s.Literal(text, _span(node))
    return s.Other([_node(each.value) for each in parts if isinstance(each, ast.FormattedValue)], _span(node))


SCALARS = (str, int, float, bool)
SKIPPED = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
TRANSLATIONS: dict[type[ast.AST], Callable[..., s.Node]] = {
    ast.Constant: _constant,
    ast.Name: lambda node: s.Name(node.id, _span(node)),
    ast.Attribute: lambda node: s.Attribute(_node(node.value), node.attr, _span(node)),
    ast.Subscript: lambda node: s.Subscript(_node(node.value), _node(node.slice), _span(node)),
    ast.Call: _call,
    ast.Await: _awaited,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.Lambda: lambda node: s.Function("", _parameters(node.args), [_node(node.body)], _span(node)),
    ast.ClassDef: _class,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.NamedExpr: _walrus,
    ast.For: _loop,
    ast.AsyncFor: _loop,
    ast.While: _while,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _dict_comprehension,
    ast.If: _if,
    ast.IfExp: _conditional,
    ast.Match: _match,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Dict: _mapping,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _sequence,
    ast.BinOp: _binary,
    ast.BoolOp: _boolean,
    ast.UnaryOp: _negated,
    ast.JoinedStr: _formatted,
    ast.Return: _exit("return"),
    ast.Raise: _exit("raise"),
    ast.Break: _exit("break"),
    ast.Continue: _exit("continue"),
    ast.Yield: _exit("yield"),
}

READER = Reader(language="python", suffixes=(".py",), is_program=True, comment="#", read=_read)
