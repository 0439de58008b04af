"""A program does not see that a record was not delivered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.code import syntax as s
from leadsman.gate.code.usage import calls_on, client_variables
from leadsman.gate.facts import Facts, Match
from leadsman.gate.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.code.analysis import Code, Site
    from leadsman.gate.facts import ConfigResource

CALLBACKS = ("callback", "on_delivery")
ANY_ERROR = frozenset(
    {
        "",
        "Exception",
        "BaseException",
        "Throwable",
        "RuntimeException",
        "KafkaError",
        "KafkaException",
        "KafkaTimeoutError",
        "BufferError",
        "TimeoutException",
        "ExecutionException",
    }
)


def _find(facts: Facts) -> Iterator[Match]:
    if facts.evaluation is None:
        return
    code = facts.evaluation.code
    seen: set[int] = set()
    for client, variable, function in client_variables(facts, ("producer",)):
        assert client.library is not None
        for site in calls_on(code, variable, function, client.library.sends):
            if id(site) not in seen:
                seen.add(id(site))
                yield from _callback_ignores(code, client, site)
                yield from _caught_and_dropped(code, site)


def _callback_ignores(code: Code, client: ConfigResource, site: Site) -> Iterator[Match]:
    callback = site.call.keyword(*CALLBACKS)
    position = 0
    if client.library is not None and client.library.name == "kafka-clients" and len(site.call.arguments) > 1:
        callback, position = site.call.arguments[1], 1  # send(record, (metadata, exception) -> ...)
    function = _function(code, callback)
    if function is None or len(function.parameters) != 2:  # noqa: PLR2004 - error and message
        return
    error = function.parameters[position].name
    is_used = any(isinstance(each, s.Name) and each.name == error for each in s.walk_all(function.body))
    if not is_used and not any(
        isinstance(each, s.Name) and each.name in {"args", "locals"} for each in s.walk_all(function.body)
    ):
        name = function.name or "the callback"
        yield Match(
            span=site.call.span, message=f"{name} of {s.called_name(site.call)}() never reads its error, `{error}`"
        )


def _function(code: Code, node: s.Node | None) -> s.Function | None:
    if isinstance(node, s.Function):
        return node
    name = node.name if isinstance(node, s.Name | s.Attribute) else ""
    found = code.functions.get(name, [])
    if len(found) != 1:
        return None
    function, _ = found[0]
    if function.parameters and function.parameters[0].name == "self":
        return s.Function(function.name, function.parameters[1:], function.body, function.span)
    return function


def _caught_and_dropped(code: Code, site: Site) -> Iterator[Match]:
    for attempt in (each for each in s.walk_all(code.body) if isinstance(each, s.Try)):
        if any(node is site.call for node in s.walk_all(attempt.body)):
            for handler in attempt.handlers:
                if _is_empty(handler) and set(handler.types or [""]) & ANY_ERROR:
                    error = ", ".join(handler.types) or "every error"
                    sent = s.called_name(site.call)
                    yield Match(
                        span=handler.span, message=f"{error} of {sent}() is caught and dropped, and the record with it"
                    )


def _is_empty(handler: s.Handler) -> bool:
    return all(
        (isinstance(each, s.Other) and not each.nodes)
        or (isinstance(each, s.Return) and each.kind == "continue")
        or (isinstance(each, s.Literal))
        for each in handler.body
    )


RULE = Rule(
    title="A failed delivery that the program ignores",
    why="send() and produce() only queue a record. Whether it was delivered shows later, in the callback"
    " or the future: where"
    " this error is dropped, the record is lost and no log says so.",
    fix="Log the callback's error and count it, or send the record again; let an error of send() reach the caller.",
    find=_find,
)
