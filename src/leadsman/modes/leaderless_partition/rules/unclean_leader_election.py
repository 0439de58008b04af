"""A replica without the latest records may become leader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.facts import Facts, Match
from leadsman.gate.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "unclean.leader.election.enable"


def _find(facts: Facts) -> Iterator[Match]:
    for resource in facts.resources:
        setting = resource.known(NAME)
        if resource.is_kind("broker", "topic") and setting is not None and str(setting.value).lower() == "true":
            yield Match(
                span=setting.span,
                message=f"{setting.written}=true: after the leader's loss, acknowledged records can be deleted",
                replacement="false",
                replacement_span=setting.value_span,
            )


RULE = Rule(
    title="Leaders that may lack acknowledged records",
    why="When no in-sync replica is left, a replica that lacks the latest records becomes leader, and the"
    " others delete what it"
    " lacks. The partition has a leader earlier, for the price of acknowledged records.",
    fix=f"Set {NAME}=false, with three replicas and min.insync.replicas=2.",
    find=_find,
)
