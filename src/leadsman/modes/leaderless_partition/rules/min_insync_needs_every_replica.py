"""A topic or cluster that refuses writes as soon as one replica is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.facts import ConfigResource, Facts, Match
from leadsman.gate.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

MIN_INSYNC = "min.insync.replicas"
FACTORS = {"broker": "default.replication.factor", "topic": "replication.factor"}


def _find(facts: Facts) -> Iterator[Match]:
    for resource in facts.resources:
        factor = resource.number(FACTORS.get(resource.kind, ""))
        least = resource.number(MIN_INSYNC)
        if factor is not None and least is not None and 1 < factor <= least:
            yield _match(resource, factor)


def _match(resource: ConfigResource, factor: float) -> Match:
    setting = resource.settings[MIN_INSYNC]
    return Match(
        span=setting.span,
        message=f"{setting.written}={setting.value} with replication factor {factor:g}: writes with"
        " acks=all stop with one broker",
        replacement=f"{factor - 1:g}",
        replacement_span=setting.value_span,
    )


RULE = Rule(
    title="Writes that need every replica",
    why="With as many required in-sync replicas as there are replicas, one broker that restarts stops all"
    " writes with acks=all:"
    " NotEnoughReplicas, until it is back.",
    fix="Three replicas and min.insync.replicas=2: one broker may be unavailable, and no acknowledged"
    " record has one copy only.",
    find=_find,
)
