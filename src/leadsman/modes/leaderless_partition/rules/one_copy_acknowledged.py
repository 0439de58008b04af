"""A replicated topic that acknowledges records with one copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.facts import Facts, Match
from leadsman.gate.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

MIN_INSYNC = "min.insync.replicas"
FACTORS = {"broker": "default.replication.factor", "topic": "replication.factor"}
REPLICATED = 3
"""With two replicas, min.insync.replicas=2 would stop writes with one broker: the setting is right there."""


def _find(facts: Facts) -> Iterator[Match]:
    for resource in facts.resources:
        factor = resource.number(FACTORS.get(resource.kind, ""))
        if factor is not None and factor >= REPLICATED and resource.number(MIN_INSYNC) == 1:
            setting = resource.settings[MIN_INSYNC]
            message = f"{setting.written}=1 with replication factor {factor:g}: acks=all can mean one copy"
            yield Match(span=setting.span, message=message, replacement="2", replacement_span=setting.value_span)


RULE = Rule(
    title="Records acknowledged with one copy",
    why="When the followers of a partition lag, its leader alone is in sync, and acks=all acknowledges"
    " records that no other broker"
    " has. If this leader is lost, so are they, or the partition waits for it without a leader.",
    fix="min.insync.replicas=2 with three replicas.",
    find=_find,
)
