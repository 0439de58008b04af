"""A broker that keeps producer ids longer than by default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.facts import Facts, Match
from leadsman.gate.rule import Rule
from leadsman.kafka_defaults import number

if TYPE_CHECKING:
    from collections.abc import Iterator

EXPIRIES = ("producer.id.expiration.ms", "transactional.id.expiration.ms")


def _find(facts: Facts) -> Iterator[Match]:
    for resource in facts.resources:
        for name in EXPIRIES if resource.is_kind("broker") else ():
            value, limit = resource.number(name), number("broker", name)
            if value is not None and value > limit:
                setting = resource.settings[name]
                days = value / 86_400_000
                message = (
                    f"{setting.written}={setting.value} keeps ids for {days:g} days, the default for"
                    f" {limit / 86_400_000:g}"
                )
                yield Match(
                    span=setting.span,
                    message=message,
                    replacement=str(round(limit)),
                    replacement_span=setting.value_span,
                )


RULE = Rule(
    title="A broker that keeps producer ids for long",
    why="A broker keeps every producer id in its heap until the id was unused for this time. The longer, the fewer new"
    " producers a day fill the heap.",
    fix="Remove the setting: the default outlives every retry of a producer. Since 3.4 it is dynamic.",
    find=_find,
)
