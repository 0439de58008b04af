"""A program waits for the broker after each record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.code import syntax as s
from leadsman.gate.code.usage import calls_on, client_variables, conditional_arms, innermost_loop, is_bounded
from leadsman.gate.facts import Facts, Match
from leadsman.gate.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

PAUSES = frozenset({"sleep", "input", "nextLine", "readLine", "wait", "delay"})
"""A loop that pauses for each record is not slowed by a flush."""


def _find(facts: Facts) -> Iterator[Match]:
    if facts.evaluation is None:
        return
    code = facts.evaluation.code
    seen: set[int] = set()
    for client, variable, function in client_variables(facts, ("producer",)):
        if client.library is None:
            continue
        sends = [
            (innermost_loop(each.around), conditional_arms(each.around))
            for each in calls_on(code, variable, function, client.library.sends)
        ]
        for site in calls_on(code, variable, function, client.library.flushes):
            loop = innermost_loop(site.around)
            if loop is None or id(site) in seen or is_bounded(loop) or _pauses(loop):
                continue
            seen.add(id(site))
            outer = [each.node for each in conditional_arms(site.around)]
            if any(each is loop and len(outer) <= len(around) for each, around in sends):
                message = (
                    f"{s.receiver(site.call)}.flush() after each record waits for the broker, and"
                    " for as long as a partition has no leader"
                )
                yield Match(span=site.call.span, message=message)


def _pauses(loop: s.Loop) -> bool:
    return any(isinstance(each, s.Call) and s.called_name(each) in PAUSES for each in s.walk(loop))


RULE = Rule(
    title="A flush after each record",
    why="flush() waits until every queued record is acknowledged. After each record it makes batches of"
    " one, and one partition"
    " without a leader stops the records of all others.",
    fix="Flush once, after the loop; read errors in the delivery callback.",
    find=_find,
)
