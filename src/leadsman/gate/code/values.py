"""Values of expressions, as far as the program says them. What depends on anything else is UNKNOWN, never guessed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from leadsman.gate.code import syntax as s
from leadsman.gate.code.analysis import (
    PUTS,
    Binding,
    Code,
    Enclosing,
    Mutation,
    dominates,
    function_around,
    is_own,
    plain_name,
    scopes,
)
from leadsman.gate.code.conversions import ENVIRONMENT, UNKNOWN, convert, operate

if TYPE_CHECKING:
    from collections.abc import Callable

DEEPEST: Final = 24
"""Steps from name to name. Chains in real programs have fewer than ten; a cycle ends here."""

MOST: Final = 20_000
"""Steps for all values of a program. Programs of people need fewer than 2,000; generated ones would take seconds."""

EMPTY_MAPS = frozenset(
    {
        "Properties",
        "HashMap",
        "LinkedHashMap",
        "TreeMap",
        "ConcurrentHashMap",
        "Map",
        "mutableMapOf",
        "hashMapOf",
        "Hashtable",
        "NewConfig",
        "StreamsConfig",
    }
)
COPIES = frozenset({"copy", "deepcopy", "dict", "unmodifiableMap", "copyOf", "toProperties", "toMap", "toMutableMap"})
PAIRS = frozenset({"of", "mapOf", "mutableMapOf", "hashMapOf"})


@dataclass(slots=True)
class MappingEntry:
    """A value of a mapping and where it stands: `span` of the pair, `value_span` of the value alone."""

    value: Any
    span: s.Span
    value_span: s.Span


@dataclass(slots=True)
class MappingValue:
    """A mapping. `is_complete`: all its keys are known. `nodes` are the syntax that it came from."""

    entries: dict[str, MappingEntry] = field(default_factory=dict)
    is_complete: bool = True
    nodes: set[int] = field(default_factory=set)

    def merge(self, other: object) -> None:
        """Add the entries of another mapping; of an unknown one, keys and values become unknown."""
        if isinstance(other, MappingValue):
            if not other.is_complete:
                self.forget()
            self.entries.update(other.entries)
            self.is_complete &= other.is_complete
            self.nodes |= other.nodes
        else:
            self.forget()

    def forget(self) -> None:
        """Mark every value as unknown: something unknown could have replaced it."""
        self.is_complete = False
        self.entries = {key: MappingEntry(UNKNOWN, each.span, each.value_span) for key, each in self.entries.items()}


@dataclass(slots=True)
class Evaluation:
    """Evaluates expressions of one program. `imported` returns the evaluation of a module that the program imports."""

    code: Code
    imported: Callable[[str], Evaluation | None]
    setting_name: Callable[[str], str | None]
    _depth: int = 0
    _steps: int = 0

    def value(self, node: s.Node, around: Enclosing, at: int | None = None) -> Any:  # noqa: ANN401 - any value
        """Return the value of an expression that stands in `around`; UNKNOWN where the program does not say it."""
        if self._depth > DEEPEST or self._steps > MOST:
            return UNKNOWN
        self._depth += 1
        self._steps += 1
        try:
            position = self.code.order.get(id(node), 0) if at is None else at
            evaluate = getattr(self, f"_{type(node).__name__.lower()}", None)
            return evaluate(node, around, position) if evaluate else UNKNOWN
        finally:
            self._depth -= 1

    def _literal(self, node: s.Literal, _around: Enclosing, _at: int) -> Any:  # noqa: ANN401 - any value
        return node.value

    def _sequence(self, node: s.Sequence, around: Enclosing, at: int) -> Any:  # noqa: ANN401 - any value
        return [self.value(each, around, at) for each in node.items]

    def _binary(self, node: s.Binary, around: Enclosing, at: int) -> Any:  # noqa: ANN401 - any value
        left, right = self.value(node.left, around, at), self.value(node.right, around, at)
        if isinstance(left, MappingValue) and node.operator in {"|", "+"}:
            merged = MappingValue()
            merged.merge(left)
            merged.merge(right)
            return merged
        return operate(node.operator, left, right)

    def _mapping(self, node: s.Mapping, around: Enclosing, at: int) -> Any:  # noqa: ANN401 - any value
        found = MappingValue(nodes={id(node)})
        for key, value in node.pairs:
            if key is None:
                found.merge(self.value(value, around, at))
            else:
                self._put(found, key, value, around, at, span=_joined(key.span, value.span))
        return found

    def _put(  # noqa: PLR0917 - private, and all are needed
        self, mapping: MappingValue, key: s.Node, value: s.Node, around: Enclosing, at: int, *, span: s.Span
    ) -> None:
        name = self.value(key, around, at)
        if isinstance(name, str):
            mapping.entries[name] = MappingEntry(self.value(value, around, at), span, value.span)
        else:
            mapping.forget()

    def _subscript(self, node: s.Subscript, around: Enclosing, at: int) -> Any:  # noqa: ANN401 - any value
        mapping, key = self.value(node.object, around, at), self.value(node.index, around, at)
        if isinstance(mapping, MappingValue) and isinstance(key, str) and key in mapping.entries:
            return mapping.entries[key].value
        return UNKNOWN

    def _name(self, node: s.Name, around: Enclosing, at: int) -> Any:  # noqa: ANN401 - any value
        return self.variable(node.name, around, at)

    def _attribute(self, node: s.Attribute, around: Enclosing, at: int) -> Any:  # noqa: ANN401 - any value
        path = s.dotted(node)
        setting = self.setting_name(path)
        if setting:
            return setting
        if is_own(path):
            return self.variable(path, around, at)
        return self._member(path, around, at)

    def _member(self, path: str, around: Enclosing, at: int) -> Any:  # noqa: ANN401 - any value
        owner, _, name = path.rpartition(".")
        holder = self.code.classes.get(owner)
        if holder is not None and "." not in name:
            found = self.code.bindings.get((id(holder), name), [])
            return self.value(found[0].value, found[0].around) if len(found) == 1 else UNKNOWN
        module = self._module_of(owner)
        if module is not None:
            return module.variable(name, (), None)
        mapping = self.variable(owner, around, at) if owner and "." not in owner else UNKNOWN
        if isinstance(mapping, MappingValue) and name in mapping.entries:
            return mapping.entries[name].value
        return UNKNOWN

    def _module_of(self, alias: str) -> Evaluation | None:
        for each in self.code.imports:
            if each.alias == alias:
                return self.imported(each.module if not each.name else f"{each.module.rstrip('.')}.{each.name}")
        return None

    def _branch(self, node: s.Branch, around: Enclosing, at: int) -> Any:  # noqa: ANN401 - any value
        """Return the value of a conditional expression where all its parts have the same value."""
        if any(len(body) != 1 for body in node.bodies):
            return UNKNOWN
        found = [self.value(body[0], around, at) for body in node.bodies]
        return found[0] if found and all(_same(each, found[0]) for each in found) else UNKNOWN

    def _call(self, node: s.Call, around: Enclosing, at: int) -> Any:  # noqa: ANN401, PLR0911 - one for each kind of call
        name = s.called_name(node)
        arguments = [self.value(each, around, at) for each in node.arguments]
        if name in PAIRS and arguments and (pairs := self._pairs(node, around, at)) is not None:
            return pairs
        if name in EMPTY_MAPS:
            return self._new_map(node, arguments)
        if name in COPIES:
            return self._copy(node, arguments, around, at)
        if name == "apply" and isinstance(node.function, s.Attribute):
            return self._applied(node.function.object, node.arguments, around, at)
        function = self._own_function(node, name)
        if function is not None:
            return self._returned(*function)
        path = s.dotted(node.function)
        if path in ENVIRONMENT or name == "getOrDefault":
            return self._with_default(node, arguments, around, at)
        subject = self.value(node.function.object, around, at) if isinstance(node.function, s.Attribute) else UNKNOWN
        if name == "get" and isinstance(subject, MappingValue):
            return self._got(subject, arguments)
        return convert(path or name, subject, arguments)

    def _applied(self, subject: s.Node, arguments: list[s.Node], around: Enclosing, at: int) -> Any:  # noqa: ANN401 - any value
        """Return a mapping after Kotlin's `apply { put(key, value); this[key] = value }`."""
        mapping = self.value(subject, around, at)
        if not isinstance(mapping, MappingValue) or not arguments or not isinstance(arguments[-1], s.Function):
            return UNKNOWN
        for each in arguments[-1].body:
            match each:
                case s.Call(function=s.Name(name=name), arguments=[key, value]) if name in PUTS:
                    self._put(mapping, key, value, around, at, span=each.span)
                case s.Assign(targets=[s.Subscript(object=s.Name(name="this"), index=key)]):
                    self._put(mapping, key, each.value, around, at, span=each.span)
                case _:
                    mapping.forget()
        return mapping

    def _got(self, mapping: MappingValue, arguments: list[Any]) -> Any:  # noqa: ANN401 - any value
        key = arguments[0] if arguments else UNKNOWN
        if isinstance(key, str) and key in mapping.entries:
            return mapping.entries[key].value
        return arguments[1] if len(arguments) > 1 and mapping.is_complete else UNKNOWN

    def _with_default(self, node: s.Call, arguments: list[Any], around: Enclosing, at: int) -> Any:  # noqa: ANN401 - any value
        default = node.keyword("default")
        if default is not None:
            return self.value(default, around, at)
        return arguments[1] if len(arguments) > 1 else UNKNOWN

    def _new_map(self, node: s.Call, arguments: list[Any]) -> Any:  # noqa: ANN401 - any value
        found = MappingValue(nodes={id(node)})
        for argument in arguments:
            if not isinstance(argument, int):  # a capacity
                found.merge(argument)
        return found

    def _copy(self, node: s.Call, arguments: list[Any], around: Enclosing, at: int) -> Any:  # noqa: ANN401 - any value
        found = MappingValue()
        if isinstance(node.function, s.Attribute) and not arguments:
            found.merge(self.value(node.function.object, around, at))
        for argument in arguments:
            found.merge(argument)
        return found

    def _pairs(self, node: s.Call, around: Enclosing, at: int) -> MappingValue | None:
        """Return the mapping of `Map.of(k, v, ...)` and of `mapOf(k to v, ...)`."""
        found = MappingValue(nodes={id(node)})
        nodes = node.arguments
        if all(isinstance(each, s.Binary) and each.operator == "to" for each in nodes):
            for each in nodes:
                assert isinstance(each, s.Binary)
                self._put(found, each.left, each.right, around, at, span=each.span)
            return found
        if s.receiver(node) != "Map" or len(nodes) % 2:
            return None
        for key, value in zip(nodes[::2], nodes[1::2], strict=True):
            self._put(found, key, value, around, at, span=_joined(key.span, value.span))
        return found

    def _own_function(self, node: s.Call, name: str) -> tuple[s.Function, Enclosing] | None:
        """Return the one function of this program that the call calls."""
        found = self.code.functions.get(name, [])
        target = s.receiver(node)
        is_here = isinstance(node.function, s.Name) or target in {"self", "this", "cls"} or target in self.code.classes
        return found[0] if len(found) == 1 and is_here else None

    def _returned(self, function: s.Function, around: Enclosing) -> Any:  # noqa: ANN401 - any value
        returned = [each for each in s.walk_all(function.body) if isinstance(each, s.Return) and each.kind == "return"]
        if len(returned) == 1 and returned[0].value is not None:
            return self.value(returned[0].value, (*around, function), self.code.order.get(id(returned[0]), 0))
        return UNKNOWN

    def variable(self, name: str, around: Enclosing, at: int | None) -> Any:  # noqa: ANN401 - any value
        """Return the value of a variable at a place of the program's walk; at the end of the module for None."""
        plain = plain_name(name)
        for scope in scopes(around, own=is_own(name)):
            bindings = self.code.bindings.get((scope, plain))
            if bindings:
                return self._bound(scope, plain, bindings, around, at)
            parameter = self._parameter(scope, plain, around)
            if parameter is not None:
                return parameter
        return self._imported_name(plain)

    def _imported_name(self, name: str) -> Any:  # noqa: ANN401 - any value
        for each in self.code.imports:
            if each.name and each.name != "*" and each.alias == name:
                setting = self.setting_name(f"{each.module}.{each.name}")
                module = None if setting else self.imported(each.module)
                return module.variable(each.name, (), None) if module else setting or UNKNOWN
        return UNKNOWN

    def _parameter(self, scope: int, name: str, around: Enclosing) -> Any:  # noqa: ANN401 - any value
        """Return a parameter's default, if no call in the program passes another value; None for no parameter."""
        function = next((each for each in around if id(each) == scope and isinstance(each, s.Function)), None)
        index = next((i for i, each in enumerate(function.parameters) if each.name == name), -1) if function else -1
        if function is None or index < 0:
            return None
        default = function.parameters[index].default
        if default is None or self._is_passed(function, name, index):
            return self._changed(MappingValue(is_complete=False), scope, name, around, None)
        return self.value(default, around, 0)

    def _is_passed(self, function: s.Function, name: str, index: int) -> bool:
        calls = self.code.called_with.get(function.name, [])
        offset = 1 if function.parameters[0].name in {"self", "cls"} else 0
        return any(len(call.arguments) > index - offset or call.keyword(name, "") is not None for call in calls)

    def _bound(  # noqa: PLR0917 - private, and all are needed
        self, scope: int, name: str, bindings: list[Binding], around: Enclosing, at: int | None
    ) -> Any:  # noqa: ANN401 - any value
        binding = self._reaching(bindings, around, at)
        if binding is None:
            return UNKNOWN
        value = self.value(binding.value, binding.around, binding.order)
        if not isinstance(value, MappingValue):
            return value
        fresh = MappingValue(dict(value.entries), value.is_complete, set(value.nodes))
        return self._changed(fresh, scope, name, around, at, since=binding.order)

    def _reaching(self, bindings: list[Binding], around: Enclosing, at: int | None) -> Binding | None:
        """Return the binding that a use sees: the last one before it that surely ran, or the only one."""
        if len(bindings) == 1:
            return bindings[0]
        here = function_around(around)
        if at is None or any(function_around(each.around) is not here for each in bindings):
            return None
        before = [each for each in bindings if each.order < at]
        return before[-1] if before and dominates(before[-1].around, around) else None

    def _changed(  # noqa: PLR0917 - private, and all are needed
        self, mapping: MappingValue, scope: int, name: str, around: Enclosing, at: int | None, since: int = 0
    ) -> MappingValue:
        """Apply the changes of a mapping between its binding and its use."""
        here = function_around(around)
        for change in self.code.mutations.get((scope, name), []):
            is_local = function_around(change.around) is here
            if change.order < since or (is_local and at is not None and change.order > at):
                continue
            self._apply(change, mapping, is_sure=not is_local or dominates(change.around, around))
        return mapping

    def _apply(self, change: Mutation, mapping: MappingValue, *, is_sure: bool) -> None:
        before = mapping.entries.copy()
        if change.key is None:
            mapping.merge(self.value(change.value, change.around, change.order))
        else:
            self._put(mapping, change.key, change.value, change.around, change.order, span=change.span)
        if not is_sure:
            for key, entry in mapping.entries.items():
                if before.get(key) is not entry:
                    mapping.entries[key] = MappingEntry(UNKNOWN, entry.span, entry.value_span)


def _same(left: object, right: object) -> bool:
    return left is right or (type(left) is type(right) and not isinstance(left, MappingValue) and left == right)


def _joined(first: s.Span, last: s.Span) -> s.Span:
    if (last.line, last.column) < (first.line, first.column):
        return last
    return s.Span(first.line, first.column, last.end_line, last.end_column)
