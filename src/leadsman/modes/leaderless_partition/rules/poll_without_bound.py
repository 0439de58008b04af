"""A poll that waits for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.code import syntax as s
from leadsman.gate.code.usage import calls_on, client_variables
from leadsman.gate.facts import Facts, Match
from leadsman.gate.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.code.analysis import Site


def _find(facts: Facts) -> Iterator[Match]:
    if facts.evaluation is None:
        return
    for client, variable, function in client_variables(facts, ("consumer",)):
        name = client.library.name if client.library else ""
        for site in calls_on(facts.evaluation.code, variable, function, ("poll",)):
            if _waits_for_ever(site, name):
                message = (
                    f"{s.receiver(site.call)}.poll() waits for ever: the loop neither stops nor"
                    " reports while no record arrives"
                )
                yield Match(span=site.call.span, message=message)


def _waits_for_ever(site: Site, library: str) -> bool:
    arguments = [*site.call.arguments, *(value for _, value in site.call.keywords)]
    if library == "confluent-kafka":
        return not arguments or (isinstance(arguments[0], s.Literal) and arguments[0].value in {None, -1, -1.0})
    return library == "kafka-clients" and any(
        s.dotted(each) == "Long.MAX_VALUE" for argument in arguments for each in s.walk(argument)
    )


RULE = Rule(
    title="A poll that waits for ever",
    why="While a partition or its group's coordinator has no leader, poll() has nothing to return."
    " Without a timeout the program can"
    " neither stop, nor report that it consumes nothing, nor learn it from its health check.",
    fix="Give poll() a timeout of about a second, and check in the loop whether to stop.",
    find=_find,
)
