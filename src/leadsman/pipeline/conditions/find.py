"""Finds every condition of every capture, in two statements of SQL at most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.conditions import brokers, clients, connecting, groups, hosts, lag, partitions
from leadsman.pipeline.conditions.min_isr import min_isr_of, with_too_few
from leadsman.pipeline.conditions.signs import names_of, runs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from datetime import datetime

    from pyspark.sql import DataFrame, Row

    from leadsman.condition import Condition
    from leadsman.pipeline.conditions.signs import Run, Sign

SIGNS = (
    *partitions.SIGNS,
    *partitions.CLIENT_SIGNS,
    *brokers.SIGNS,
    *groups.SIGNS,
    *connecting.SIGNS,
    *clients.SIGNS,
    *hosts.SIGNS,
)


def signs_among(present: Collection[str]) -> list[Sign]:
    """Return the signs of the kinds of which any event could tell of trouble."""
    kinds = {sign.kind for sign in SIGNS if not set(sign.names).difference(sign.healthy).isdisjoint(present)}
    return [sign for sign in SIGNS if sign.kind in kinds and not names_of([sign]).isdisjoint(present)]


def conditions_of(
    events: DataFrame, present: Collection[str], *, ends: Mapping[str, datetime | None], many: bool
) -> dict[str, tuple[Condition, ...]]:
    """Return the conditions by capture, the worst first.

    `present` are the names of all events, `ends` the last time of which each capture tells. `many`: see `runs`.
    """
    signs = signs_among(present)
    found = _by_kind(runs(events, signs, many=many)) if signs else {}
    _add_too_few(events, found, present)
    lagging = lag.growing(events) if not set(lag.NAMES).isdisjoint(present) else {}
    return {
        capture: tuple(_sorted(found.get(capture, {}), lagging.get(capture, ()), end)) for capture, end in ends.items()
    }


def _by_kind(found: Mapping[str, Sequence[Run]]) -> dict[str, dict[str, list[Run]]]:
    parted: dict[str, dict[str, list[Run]]] = {}
    for capture, every in found.items():
        for run in every:
            parted.setdefault(capture, {}).setdefault(run.kind, []).append(run)
    return parted


def _add_too_few(events: DataFrame, found: dict[str, dict[str, list[Run]]], present: Collection[str]) -> None:
    """Add the partitions with fewer in-sync replicas than their topic asks for; there are settings to compare with."""
    if names.SETTING in present and any("under_replicated" in kinds for kinds in found.values()):
        least = min_isr_of(events)
        for capture, kinds in found.items():
            if few := list(with_too_few(capture, kinds.get("under_replicated", ()), least)):
                kinds.setdefault("under_min_isr", []).extend(few)


def _sorted(found: Mapping[str, Sequence[Run]], lagging: Sequence[Row], end: datetime | None) -> list[Condition]:
    return sorted(_every(found, lagging, end), key=lambda each: (not each.stands, each.severity))


def _every(found: Mapping[str, Sequence[Run]], lagging: Sequence[Row], end: datetime | None) -> Iterator[Condition]:
    yield from partitions.conditions(found)
    yield from brokers.conditions(found, end, connecting.reaching_none(found))
    yield from groups.conditions(found, end)
    yield from lag.conditions(lagging)
    yield from connecting.conditions(found)
    yield from clients.conditions(found, end)
    yield from hosts.conditions(found, end)
