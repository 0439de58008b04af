"""How a program uses a client: the variable that holds it, the calls of its methods, and whether it is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.code import syntax as s
from leadsman.gate.code.analysis import Arm, Site, function_around, is_own

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from leadsman.gate.code.analysis import Code, Enclosing
    from leadsman.gate.facts import ConfigResource, Facts

MANY = 100
"""A loop over a literal list, or over a range of fewer numbers, runs a fixed number of times: no leak comes from it."""


def _unwrapped(node: s.Node) -> s.Node:
    """Return what a resource wrapper such as `closing(x)` or `await x` holds."""
    if isinstance(node, s.Call) and s.called_name(node) in {"closing", "enter_context"} and node.arguments:
        return node.arguments[0]
    return node


def client_variables(facts: Facts, kinds: Collection[str]) -> Iterator[tuple[ConfigResource, str, s.Function | None]]:
    """Yield the clients of a kind with the variable of each, and the function that the variable belongs to."""
    if facts.evaluation is None:
        return
    code = facts.evaluation.code
    for client in facts.resources:
        if client.kind in kinds and client.creation is not None:
            for variable, around in names_of(code, client.creation):
                yield client, variable, None if is_own(variable) else function_around(around)


def names_of(code: Code, creation: s.Call) -> Iterator[tuple[str, Enclosing]]:
    """Yield the variables that are bound to an object where it is created."""
    classes = {id(each) for each in code.classes.values()}
    for (scope, name), bindings in code.bindings.items():
        for each in bindings:
            if _unwrapped(each.value) is creation:
                function = function_around(each.around)
                is_attribute = scope in classes and function is not None
                yield (f"self.{name}" if is_attribute else name), each.around


def calls_on(code: Code, variable: str, function: s.Function | None, methods: Collection[str]) -> Iterator[Site]:
    """Yield the calls of methods of a variable; of a local variable only within its function."""
    names = {variable, variable.replace("self.", "this.", 1), variable.removeprefix("self.")}
    for site in code.sites:
        is_called = s.called_name(site.call) in methods and s.receiver(site.call) in names
        if is_called and (function is None or any(each is function for each in site.around)):
            yield site


def direct_calls(code: Code, creation: s.Call, methods: Collection[str]) -> Iterator[Site]:
    """Yield the calls of methods of an object where it is created: `Producer(...).produce(...)`."""
    for site in code.sites:
        called = site.call.function
        if isinstance(called, s.Attribute) and called.object is creation and called.name in methods:
            yield site


SCOPES = frozenset({"use", "let", "also"})
"""Functions of Kotlin that call a lambda once, with the object as its parameter."""


def scope_calls(code: Code, creation: s.Call, methods: Collection[str]) -> Iterator[Site]:
    """Yield the calls of methods of an object that only a lambda gets: `KafkaProducer(...).use { it.send(...) }`.

    Each stands where its lambda is called. Calls in a loop of the lambda are left out.
    """
    for scope in direct_calls(code, creation, SCOPES):
        for block in (each for each in scope.call.arguments if isinstance(each, s.Function) and each.parameters):
            for site in calls_on(code, block.parameters[0].name, block, methods):
                if function_around(site.around) is block and innermost_loop(site.around) is None:
                    yield Site(site.call, scope.around)


def innermost_loop(around: Enclosing) -> s.Loop | None:
    """Return the loop around a place, within its function."""
    for each in reversed(around):
        if isinstance(each, s.Function):
            return None
        if isinstance(each, s.Loop):
            return each
    return None


def conditional_arms(around: Enclosing) -> list[Arm]:
    """Return the conditional parts around a place, within its function; the outermost first."""
    found: list[Arm] = []
    for each in around:
        if isinstance(each, s.Function):
            found = []
        elif isinstance(each, Arm):
            found.append(each)
    return found


def is_bounded(loop: s.Loop) -> bool:
    """Whether a loop runs a small, fixed number of times, or ends by itself when an attempt succeeded."""
    iterable = loop.iterable
    if isinstance(iterable, s.Sequence | s.Mapping | s.Literal) or _lists_literals(iterable):
        return True
    if isinstance(iterable, s.Call) and s.called_name(iterable) in {"range", "enumerate"}:
        numbers = [each.value for each in iterable.arguments if isinstance(each, s.Literal)]
        if len(numbers) == len(iterable.arguments) and all(isinstance(n, int) and n < MANY for n in numbers):
            return True
    leaves = {each.kind for each in _on_success(loop.body) if isinstance(each, s.Return)}
    return bool(leaves & {"break", "return", "yield"})


LISTS = frozenset({"listOf", "setOf", "arrayOf", "of", "asList"})
"""Functions of Kotlin and Java that make a list of their arguments."""


def _lists_literals(node: s.Node | None) -> bool:
    """Whether a call lists values that stand in the program: `List.of("eu", "us")`."""
    if not isinstance(node, s.Call) or s.called_name(node) not in LISTS:
        return False
    return all(isinstance(each, s.Literal) for each in node.arguments)


ERRORS = frozenset({"err", "error"})


def _on_success(nodes: list[s.Node]) -> Iterator[s.Node]:
    """Yield the nodes of a body that run where no error occurred, without those of functions that are defined there."""
    for node in nodes:
        yield node
        if isinstance(node, s.Branch) and any(_is_failure(each) for each in node.condition):
            yield from _on_success([each for body in node.bodies[1:] for each in body])
        elif not isinstance(node, s.Function | s.Handler):
            yield from _on_success(list(node.children()))


def _is_failure(condition: s.Node) -> bool:
    """Whether a condition is that an error occurred: `err != nil` of Go, `if (err)` of JavaScript."""
    if isinstance(condition, s.Binary):
        return condition.operator in {"!=", "!=="} and s.dotted(condition.left) in ERRORS
    return isinstance(condition, s.Name) and condition.name in ERRORS


def _within(nodes: list[s.Node]) -> Iterator[s.Node]:
    """Yield the nodes of a body, without those of functions that are defined there."""
    for node in nodes:
        yield node
        if not isinstance(node, s.Function):
            yield from _within(list(node.children()))


def within(function: s.Function) -> Iterator[s.Node]:
    """Yield the nodes of a function's body, without those of functions in it."""
    return _within(function.body)


def is_kept(scope: list[s.Node], variable: str) -> bool:
    """Whether code stores a variable or gives it away: it may then live longer than the code around it."""
    return any(_gives(node, variable) for node in s.walk_all(scope))


def _gives(node: s.Node, variable: str) -> bool:
    match node:
        case s.Call():
            return any(_is_or_contains(each, variable) for each in (*node.arguments, *(v for _, v in node.keywords)))
        case s.Return():
            return node.value is not None and _is_or_contains(node.value, variable)
        case s.Assign():
            return _is_or_contains(node.value, variable)
        case s.Mapping():
            return any(_is_or_contains(value, variable) for _, value in node.pairs)
    return isinstance(node, s.Other) and any(s.dotted(each) == variable for each in node.nodes if variable)


def _is_or_contains(node: s.Node, variable: str) -> bool:
    if isinstance(node, s.Sequence):
        return any(_is_or_contains(each, variable) for each in node.items)
    return s.dotted(node) == variable


def mentions(node: s.Node, names: Collection[str]) -> bool:
    """Whether an expression reads one of these names."""
    return any(isinstance(each, s.Name) and each.name in names for each in s.walk(node))
