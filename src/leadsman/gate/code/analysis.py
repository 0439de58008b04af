"""A program's calls, bindings and functions with the nodes around each, from one walk over its syntax."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from leadsman.gate.code import syntax as s

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True, eq=False)
class Arm:
    """One part of a branch or try: code that does not run whenever its surroundings run."""

    node: s.Branch | s.Try | s.Handler
    index: int


Enclosing: TypeAlias = "tuple[s.Function | s.Class | s.Loop | Arm, ...]"
"""What a node stands in, outermost first."""


@dataclass(slots=True, eq=False)
class Site:
    """A call, and what it stands in."""

    call: s.Call
    around: Enclosing


@dataclass(slots=True, eq=False)
class Binding:
    """A value that a name gets, and where. `order` is the place in the program's walk."""

    value: s.Node
    around: Enclosing
    order: int
    type: str = ""


@dataclass(slots=True, eq=False)
class Mutation:
    """A change of a mapping: one pair, or another mapping that is merged (no key)."""

    key: s.Node | None
    value: s.Node
    around: Enclosing
    order: int
    span: s.Span


PUTS = frozenset({"put", "setProperty", "setdefault", "set", "Set", "SetKey", "putIfAbsent"})
MERGES = frozenset({"update", "putAll"})


@dataclass(slots=True)
class Code:
    """What a program consists of. Bindings and mutations are by scope (0 for the module, else a node's id) and name."""

    body: list[s.Node]
    language: str
    sites: list[Site] = field(default_factory=list)
    functions: dict[str, list[tuple[s.Function, Enclosing]]] = field(default_factory=dict)
    classes: dict[str, s.Class] = field(default_factory=dict)
    imports: list[s.Import] = field(default_factory=list)
    bindings: dict[tuple[int, str], list[Binding]] = field(default_factory=dict)
    mutations: dict[tuple[int, str], list[Mutation]] = field(default_factory=dict)
    mappings: list[tuple[s.Mapping, Enclosing]] = field(default_factory=list)
    order: dict[int, int] = field(default_factory=dict)
    called_with: dict[str, list[s.Call]] = field(default_factory=dict)


def analyse(body: list[s.Node], language: str) -> Code:
    """Walk once over a program."""
    code = Code(body, language)
    walker = _Walker(code)
    for node in body:
        walker.visit(node, ())
    return code


class _Walker:
    """Fills a Code. The count orders nodes as they stand in the program."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.count = 0

    def visit(self, node: s.Node, around: Enclosing) -> None:
        self.count += 1
        self.code.order[id(node)] = self.count
        record = getattr(self, f"_{type(node).__name__.lower()}", None)
        if record is None or not record(node, around):
            for child in node.children():
                self.visit(child, around)

    def _call(self, node: s.Call, around: Enclosing) -> bool:
        self.code.sites.append(Site(node, around))
        name = s.called_name(node)
        self.code.called_with.setdefault(name, []).append(node)
        if isinstance(node.function, s.Attribute):
            self._mutate(node, name, around)
        return False

    def _mutate(self, node: s.Call, name: str, around: Enclosing) -> None:
        variable = s.receiver(node)
        if not variable:
            return
        if name in PUTS and len(node.arguments) == 2:  # noqa: PLR2004 - key and value
            self._add_mutation(variable, node.arguments[0], node.arguments[1], around, node.span)
        elif name in MERGES:
            for argument in node.arguments:
                self._add_mutation(variable, None, argument, around, node.span)
            for key, value in node.keywords:
                literal = s.Literal(key, value.span) if key else None
                self._add_mutation(variable, literal, value, around, node.span)

    def _add_mutation(  # noqa: PLR0917 - private, and all are needed
        self, variable: str, key: s.Node | None, value: s.Node, around: Enclosing, span: s.Span
    ) -> None:
        scope = self._scope_of(variable, around)
        changes = self.code.mutations.setdefault((scope, _own(variable)), [])
        changes.append(Mutation(key, value, around, self.count, span))

    def _scope_of(self, variable: str, around: Enclosing) -> int:
        """Return the scope of a variable: its own class for `self.x`, else the nearest one that binds the name."""
        for scope in scopes(around, own=is_own(variable)):
            if (scope, _own(variable)) in self.code.bindings:
                return scope
        return next(scopes(around, own=is_own(variable)), 0)

    def _assign(self, node: s.Assign, around: Enclosing) -> bool:
        for target in node.targets:
            if isinstance(target, s.Subscript):
                variable = s.dotted(target.object)
                if variable:
                    self._add_mutation(variable, target.index, node.value, around, node.span)
            elif isinstance(target, s.Name | s.Attribute) and (variable := s.dotted(target)):
                self._bind(variable, node, around)
        return False

    def _bind(self, variable: str, node: s.Assign, around: Enclosing) -> None:
        if "." in _own(variable):
            first, _, name = _own(variable).partition(".")
            left = variable.removesuffix(f".{name}")
            scope = self._scope_of(left, around)
            key = s.Literal(name, node.span)
            changes = self.code.mutations.setdefault((scope, first), [])
            changes.append(Mutation(key, node.value, around, self.count, node.span))
            return
        is_field = is_own(variable) or self._is_field(variable, node, around)
        scope = next(scopes(around, own=is_field), 0)
        found = self.code.bindings.setdefault((scope, _own(variable)), [])
        found.append(Binding(node.value, around, self.count, node.type))

    def _is_field(self, variable: str, node: s.Assign, around: Enclosing) -> bool:
        """Whether an assignment without a declaration is to a field: in languages where locals are declared."""
        if self.code.language not in DECLARING or node.is_declaration:
            return False
        return not any((id(each), variable) in self.code.bindings for each in around if isinstance(each, s.Function))

    def _function(self, node: s.Function, around: Enclosing) -> bool:
        if node.name:
            self.code.functions.setdefault(node.name, []).append((node, around))
        for decorator in node.decorators:
            self.visit(decorator, around)
        for parameter in node.parameters:
            if parameter.default is not None:
                self.visit(parameter.default, around)
        self._visit_all(node.body, (*around, node))
        return True

    def _class(self, node: s.Class, around: Enclosing) -> bool:
        self.code.classes.setdefault(node.name, node)
        self._visit_all(node.decorators, around)
        self._visit_all(node.body, (*around, node))
        return True

    def _loop(self, node: s.Loop, around: Enclosing) -> bool:
        if node.iterable is not None:
            self.visit(node.iterable, around)
        self._visit_all(node.body, (*around, node))
        return True

    def _branch(self, node: s.Branch, around: Enclosing) -> bool:
        self._visit_all(node.condition, around)
        for index, body in enumerate(node.bodies):
            self._visit_all(body, (*around, Arm(node, index)))
        return True

    def _try(self, node: s.Try, around: Enclosing) -> bool:
        self._visit_all(node.body, around)
        for index, handler in enumerate(node.handlers):
            self._visit_all(handler.body, (*around, Arm(handler, index)))
        self._visit_all(node.final, around)
        return True

    def _import(self, node: s.Import, _around: Enclosing) -> bool:
        self.code.imports.append(node)
        return True

    def _mapping(self, node: s.Mapping, around: Enclosing) -> bool:
        self.code.mappings.append((node, around))
        return False

    def _visit_all(self, nodes: list[s.Node], around: Enclosing) -> None:
        for node in nodes:
            self.visit(node, around)


DECLARING = frozenset({"java", "kotlin"})
OWN = ("self.", "this.", "cls.")


def is_own(variable: str) -> bool:
    """Whether a name is an attribute of the object itself."""
    return variable.startswith(OWN)


def _own(variable: str) -> str:
    return variable.partition(".")[2] if is_own(variable) else variable


def plain_name(variable: str) -> str:
    """Return the name without `self.` or `this.`."""
    return _own(variable)


def scopes(around: Enclosing, *, own: bool = False) -> Iterator[int]:
    """Yield the scopes of a place, the innermost first. An attribute of the object is in the class's scope only."""
    for each in reversed(around):
        if isinstance(each, s.Class) or (isinstance(each, s.Function) and not own):
            yield id(each)
    yield 0


def function_around(around: Enclosing) -> s.Function | None:
    """Return the innermost function of a place."""
    return next((each for each in reversed(around) if isinstance(each, s.Function)), None)


def dominates(outer: Enclosing, inner: Enclosing) -> bool:
    """Whether code in `outer` surely ran, if it stands before code in `inner`."""
    return len(outer) <= len(inner) and all(
        a is b or (isinstance(a, Arm) and isinstance(b, Arm) and a.node is b.node and a.index == b.index)
        for a, b in zip(outer, inner, strict=False)
    )
