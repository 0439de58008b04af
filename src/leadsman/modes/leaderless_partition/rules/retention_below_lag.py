"""A topic whose records are deleted before a stopped consumer reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.facts import Facts, Match
from leadsman.gate.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

RETENTION = "retention.ms"


def _find(facts: Facts) -> Iterator[Match]:
    if facts.lag_ms is None:
        return  # how long consumers may be stopped is known to the team alone
    for resource in facts.resources:
        value = resource.number(RETENTION)
        if resource.is_kind("topic") and value is not None and 0 <= value < facts.lag_ms:
            setting = resource.settings[RETENTION]
            hours = f"{value / 3_600_000:g} h, consumers may be {facts.lag_ms / 3_600_000:g} h behind"
            yield Match(
                span=setting.span, message=f"{setting.written}={setting.value} of {resource.name} keeps {hours}"
            )


RULE = Rule(
    title="Records deleted before a stopped consumer reads them",
    why="A consumer that a failover stopped stays stopped until a person notices. Records that retention"
    " deletes meanwhile are lost"
    " to it, and auto.offset.reset decides whether it skips or repeats the rest.",
    fix="Set retention.ms longer than a weekend with an unnoticed failure, or notice sooner: alert on lag.",
    find=_find,
)
