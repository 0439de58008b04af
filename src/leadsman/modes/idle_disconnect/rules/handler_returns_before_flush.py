"""A serverless handler returns while records are still queued."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.code import syntax as s
from leadsman.gate.code.analysis import function_around
from leadsman.gate.code.usage import calls_on, client_variables
from leadsman.gate.facts import Facts, Match
from leadsman.gate.hops import lambda_handlers
from leadsman.gate.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.code.analysis import Code, Site

WAITS = frozenset(
    {"flush", "poll", "get", "result", "close", "stop", "send_and_wait", "gather", "wait", "run_until_complete", "join"}
)
"""Methods that wait for deliveries, or may. Where one of them is called, no finding."""


def _find(facts: Facts) -> Iterator[Match]:
    if facts.evaluation is None:
        return
    code = facts.evaluation.code
    handlers = lambda_handlers(code)
    for client, variable, function in client_variables(facts, ("producer",)):
        if client.library is None:
            continue
        if client.library.send_waits:
            yield from _promises(code, handlers, calls_on(code, variable, function, client.library.sends))
            continue
        for site in calls_on(code, variable, function, client.library.sends):
            around = function_around(site.around)
            handler = next((each for each in handlers if each is around), None)
            if handler is not None and not site.call.is_awaited and not _waits(code, handler):
                sent = s.called_name(site.call)
                yield Match(span=site.call.span, message=f"{handler.name}() returns without flush() after {sent}()")


def _promises(code: Code, handlers: list[s.Function], sends: Iterator[Site]) -> Iterator[Match]:
    """Yield the sends of JavaScript whose promise the handler drops. In other languages, such a send waits itself."""
    for site in sends if code.language == "typescript" else ():
        handler = next((each for each in handlers if each is function_around(site.around)), None)
        if handler is not None and not site.call.is_awaited and _is_statement(handler, site.call):
            sent = s.called_name(site.call)
            yield Match(span=site.call.span, message=f"{handler.name}() returns without awaiting {sent}()")


def _is_statement(function: s.Function, call: s.Call) -> bool:
    """Whether a call stands alone, so that nothing can wait for what it returns."""
    bodies = [function.body]
    for node in s.walk_all(function.body):
        match node:
            case s.Loop() | s.Handler():
                bodies.append(node.body)
            case s.Branch():
                bodies += node.bodies
            case s.Try():
                bodies += [node.body, node.final]
    return any(each is call for body in bodies for each in body)


def _waits(code: Code, handler: s.Function) -> bool:
    """Whether the handler, or a function of the program that it calls, calls anything that waits."""
    pending, seen = [handler], set()
    while pending:
        function = pending.pop()
        seen.add(id(function))
        for call in (each for each in s.walk_all(function.body) if isinstance(each, s.Call)):
            name = s.called_name(call)
            if name in WAITS:
                return True
            pending += [each for each, _ in code.functions.get(name, []) if id(each) not in seen]
    return False


RULE = Rule(
    title="A serverless handler that returns before its records are sent",
    why="The platform freezes the process as soon as the handler returns, and with it the client's"
    " thread. Queued records are"
    " sent when the worker is used again, minutes later, on connections that the path has dropped; or never.",
    fix="Call flush() with a timeout before the handler returns, and report how many records it could not deliver.",
    find=_find,
)
