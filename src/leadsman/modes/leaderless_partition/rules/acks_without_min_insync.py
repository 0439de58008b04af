"""A producer for which the cluster's min.insync.replicas has no effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.facts import Facts, Match
from leadsman.gate.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

ACKS = "acks"


def _find(facts: Facts) -> Iterator[Match]:
    if facts.min_insync is None or facts.min_insync <= 1:
        return  # what the topics require is known where both are given to `check topics`
    for client in facts.resources:
        setting = client.known(ACKS) if client.is_kind("producer", "client") else None
        if setting is not None and setting.value == "1":
            message = f"{setting.written}=1: min.insync.replicas={facts.min_insync:g} has no effect for this producer"
            yield Match(span=setting.span, message=message, replacement="all", replacement_span=setting.value_span)


RULE = Rule(
    title="Acknowledgements that min.insync.replicas does not guard",
    why="min.insync.replicas counts only for acks=all. With acks=1 the leader alone acknowledges: a record that no"
    " follower has yet is lost with its leader, although the topic requires two copies.",
    fix="Set acks=all, the default since Kafka 3.0.",
    find=_find,
)
