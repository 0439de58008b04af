"""Finds every condition of every capture, in two statements of SQL at most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.conditions import brokers, clients, connecting, groups, hosts, lag, partitions
from leadsman.pipeline.conditions.episodes import find_episodes
from leadsman.pipeline.conditions.min_isr import below_min_isr, read_min_isr
from leadsman.pipeline.conditions.samples import event_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from datetime import datetime

    from pyspark.sql import DataFrame, Row

    from leadsman.model.condition import Condition
    from leadsman.pipeline.conditions.episodes import Episode
    from leadsman.pipeline.conditions.samples import HealthRule

RULES = (
    *partitions.RULES,
    *partitions.CLIENT_RULES,
    *brokers.RULES,
    *groups.RULES,
    *connecting.RULES,
    *clients.RULES,
    *hosts.RULES,
)


def applicable_rules(present: Collection[str]) -> list[HealthRule]:
    """Return the rules of the kinds of which the events that are present can show anything unhealthy."""
    kinds = {rule.kind for rule in RULES if not set(rule.names).difference(rule.healthy_names).isdisjoint(present)}
    return [rule for rule in RULES if rule.kind in kinds and not event_names([rule]).isdisjoint(present)]


def find_conditions(
    events: DataFrame, present: Collection[str], *, ends: Mapping[str, datetime | None], many: bool
) -> dict[str, tuple[Condition, ...]]:
    """Return the conditions by capture, the worst first.

    `present` are the names of all events, `ends` the last time that each capture covers. `many`: see `find_episodes`.
    """
    rules = applicable_rules(present)
    episodes = _by_kind(find_episodes(events, rules, many=many)) if rules else {}
    _add_below_min_isr(events, episodes, present)
    lagging = lag.growing_lag(events) if not set(lag.NAMES).isdisjoint(present) else {}
    return {
        capture: tuple(_sort_by_severity(episodes.get(capture, {}), lagging.get(capture, ()), capture_end))
        for capture, capture_end in ends.items()
    }


def _by_kind(by_capture: Mapping[str, Sequence[Episode]]) -> dict[str, dict[str, list[Episode]]]:
    """Return the episodes by capture and kind."""
    grouped: dict[str, dict[str, list[Episode]]] = {}
    for capture, episodes in by_capture.items():
        for episode in episodes:
            grouped.setdefault(capture, {}).setdefault(episode.kind, []).append(episode)
    return grouped


def _add_below_min_isr(
    events: DataFrame, episodes: dict[str, dict[str, list[Episode]]], present: Collection[str]
) -> None:
    """Add the partitions with fewer in-sync replicas than min.insync.replicas, where the capture shows that setting."""
    if names.SETTING in present and any("under_replicated" in by_kind for by_kind in episodes.values()):
        min_isr = read_min_isr(events)
        for capture, by_kind in episodes.items():
            if below := list(below_min_isr(capture, by_kind.get("under_replicated", ()), min_isr)):
                by_kind.setdefault("under_min_isr", []).extend(below)


def _sort_by_severity(
    by_kind: Mapping[str, Sequence[Episode]], lagging: Sequence[Row], capture_end: datetime | None
) -> list[Condition]:
    return sorted(_all_conditions(by_kind, lagging, capture_end), key=lambda each: (not each.ongoing, each.severity))


def _all_conditions(
    by_kind: Mapping[str, Sequence[Episode]], lagging: Sequence[Row], capture_end: datetime | None
) -> Iterator[Condition]:
    yield from partitions.conditions(by_kind)
    yield from brokers.conditions(by_kind, capture_end, connecting.unreachable_clients(by_kind))
    yield from groups.conditions(by_kind, capture_end)
    yield from lag.conditions(lagging)
    yield from connecting.conditions(by_kind)
    yield from clients.conditions(by_kind, capture_end)
    yield from hosts.conditions(by_kind, capture_end)
