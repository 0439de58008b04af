"""A transactional id that is new at every start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.code import syntax as s
from leadsman.gate.facts import ConfigResource, Facts, Match
from leadsman.gate.rule import Rule
from leadsman.kafka_defaults import number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.code.values import Evaluation

ID = "transactional.id"
RANDOM = frozenset({"uuid1", "uuid4", "randomUUID", "uuidv4", "NewString"})
DAYS = number("broker", "transactional.id.expiration.ms") / 86_400_000


def _find(facts: Facts) -> Iterator[Match]:
    if facts.evaluation is None:
        return
    for client in facts.resources:
        setting = client.settings.get(ID)
        is_unknown = setting is not None and setting.value is None
        if client.is_kind("producer", "client") and is_unknown and _is_random(facts.evaluation, client):
            setting = client.settings[ID]
            message = f"{setting.written} is random: every start of the program leaves an id for {DAYS:g} days"
            yield Match(span=setting.span, message=message)


def _is_random(evaluation: Evaluation, client: ConfigResource) -> bool:
    """Whether the value's own expression calls a generator of random ids."""
    setting = client.settings[ID]
    for node in s.walk_all(evaluation.code.body):
        if node.span == setting.value_span and not isinstance(node, s.Assign):
            return any(isinstance(each, s.Call) and s.called_name(each) in RANDOM for each in s.walk(node))
    return False


RULE = Rule(
    title="A transactional id that is new at every start",
    why=f"Brokers keep a transactional id for {DAYS:g} days (transactional.id.expiration.ms) after its"
    " last use, with its producer"
    " id. A random id is never used again, and does not fence the producer that it replaces.",
    fix="Derive transactional.id from what stays: the application's name and the number of its instance or partition.",
    find=_find,
)
