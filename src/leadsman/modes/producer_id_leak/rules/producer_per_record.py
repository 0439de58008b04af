"""A program creates a producer for each record or request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.code.idempotence import takes_producer_id
from leadsman.gate.code.repetition import repetition_phrase
from leadsman.gate.facts import ConfigResource, Facts, Match
from leadsman.gate.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator


def _find(facts: Facts) -> Iterator[Match]:
    if facts.evaluation is None:
        return
    for client in facts.resources:
        if client.is_kind("producer") and "transactional.id" not in client.settings:
            where = repetition_phrase(facts.evaluation.code, client)
            if where:
                yield Match(span=client.span, message=f"a producer is created {where}: {_harm(client)}")


def _harm(client: ConfigResource) -> str:
    takes = takes_producer_id(client)
    if takes is None:
        return "each opens connections of its own, and takes a producer id if it is idempotent"
    if takes:
        return "each takes a producer id, and brokers keep all ids for a day or longer"
    return "each opens connections of its own; made idempotent, it would also fill the brokers' heap with ids"


RULE = Rule(
    title="A producer for each record",
    why="Brokers keep the id of every idempotent producer: one producer per record fills their heap"
    " within days. The first"
    " record of a new producer also waits for connections and an id, half a second at times.",
    fix="Create one producer for the life of the process, outside the loop or handler; it may be shared by threads.",
    find=_find,
)
