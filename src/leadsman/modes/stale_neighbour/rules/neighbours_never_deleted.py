"""A host of Kafka whose kernel never deletes unused neighbour entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.facts import Facts, Match
from leadsman.gate.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

THRESHOLD = "net.ipv4.neigh.default.gc_thresh1"


def _find(facts: Facts) -> Iterator[Match]:
    if "kafka" not in f"{facts.path}\n{facts.text}".lower():
        return  # it is not known that the host serves Kafka
    for resource in facts.resources:
        setting = resource.known(THRESHOLD)
        if resource.is_kind("kernel") and setting is not None and resource.number(THRESHOLD) not in {0, None}:
            yield Match(
                span=setting.span,
                message=f"{setting.written}={setting.value} keeps entries of dead instances while the table has fewer",
                replacement="0",
                replacement_span=setting.value_span,
            )


RULE = Rule(
    title="Neighbour entries that are never deleted",
    why="Below gc_thresh1 entries the kernel deletes none. A broker outlives its clients: where a new"
    " instance gets a dead one's"
    " address, answers go to the dead one's MAC, and the instance cannot connect.",
    fix=f"Set {THRESHOLD}=0: unused entries are deleted after a minute. End a running incident with ip neigh del.",
    find=_find,
)
