"""Conditions of consumer groups: no members, or one rebalance after another."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.conditions.kinds import longest_seconds, make_condition
from leadsman.pipeline.conditions.samples import HealthRule
from leadsman.pipeline.detector_sql import sql_literals

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from leadsman.model.condition import Condition
    from leadsman.pipeline.conditions.episodes import Episode

GROUP = "labels['group']"
REBALANCING = sql_literals("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")
EMPTY = f"labels['state'] IN ({sql_literals('Empty', 'Dead')})"
FROM_LOG = "labels['generation'] IS NOT NULL"
"""Brokers log the generation; `kafka-consumer-groups` does not print it."""

RULES = (
    HealthRule(
        kind="group_dead",
        names=(names.GROUP_STATE, names.GROUP_LAG),
        thing=GROUP,
        unhealthy=f"IF(name = '{names.GROUP_STATE}', {EMPTY}, IF(labels['member'] IS NULL, "
        f"IF(coalesce(value, 0) > 0 AND NOT coalesce(labels['state'] NOT IN ('Empty', 'Dead'), false), true, NULL), "
        "false))",
        amount=f"IF(name = '{names.GROUP_LAG}', value, NULL)",
        detail="IF(labels['generation'] IS NULL, 'snapshot', 'log')",
    ),
    HealthRule(
        kind="rebalancing_snapshot",
        names=(names.GROUP_STATE,),
        where=f"NOT ({FROM_LOG})",
        thing=GROUP,
        unhealthy=f"labels['state'] IN ({REBALANCING})",
    ),
    HealthRule(
        kind="rebalance",
        names=(names.GROUP_STATE,),
        where=f"{FROM_LOG} AND labels['state'] IN ({REBALANCING})",
        thing=GROUP,
        amount="labels['generation']",
        gap_seconds=300.0,
    ),
    HealthRule(
        kind="joined",
        names=(names.CONSUMER_JOINED,),
        thing="coalesce(nullif(regexp_extract(text, 'groupId=([^,\\\\]]+)', 1), ''), labels['client_id'], subject)",
        amount="labels['generation']",
        gap_seconds=300.0,
    ),
    HealthRule(
        kind="streams_dead",
        names=(names.CONSUMER_ENDED, names.CONSUMER_JOINED),
        healthy_names=(names.CONSUMER_JOINED,),
        where=f"name = '{names.CONSUMER_JOINED}' OR labels['how'] = 'all'",
        thing="subject",
        unhealthy=f"name = '{names.CONSUMER_ENDED}'",
        detail="labels['thread']",
    ),
)

ABANDONED_SECONDS = 600.0
"""By its log a group is empty for so long to the capture's end: after a deployment it has members within minutes."""

RESTART_SECONDS = 60.0
"""A group that had members so recently may have them again soon: its application is being restarted."""

CONSOLE_GROUP = re.compile(r"console-consumer-\d+$")
"""kafka-console-consumer creates such a group each time it runs, and leaves it behind."""

MIN_REBALANCES = 6
"""Rebalances within a few minutes: a deployment of two or three members causes fewer, a rebalance storm more."""


def conditions(by_kind: Mapping[str, Sequence[Episode]], capture_end: datetime | None) -> Iterator[Condition]:
    """Yield the conditions of groups. `capture_end` is the last time that the capture covers."""
    yield from _dead(by_kind.get("group_dead", ()), capture_end)
    yield from _streams(by_kind.get("streams_dead", ()))
    yield from _rebalancing(by_kind)


def _dead(episodes: Sequence[Episode], capture_end: datetime | None) -> Iterator[Condition]:
    dead = [
        episode
        for episode in episodes
        if not CONSOLE_GROUP.match(episode.thing) and _is_dead(episode, capture_end, episodes)
    ]
    if dead:
        ongoing = [episode for episode in dead if episode.ongoing]
        figures = {
            "ongoing": len({episode.thing for episode in ongoing}),
            "groups": len({episode.thing for episode in dead}),
            "longest": longest_seconds(dead),
            "lag": max((episode.max_amount or 0.0 for episode in dead), default=0.0),
        }
        yield make_condition(
            "group_dead",
            [*ongoing, *(episode for episode in dead if not episode.ongoing)],
            figures,
            ongoing=bool(ongoing),
        )


def _is_dead(episode: Episode, capture_end: datetime | None, episodes: Sequence[Episode]) -> bool:
    """Say whether a group was without members for longer than a restart, and has lag or had members before."""
    lagging = (episode.max_amount or 0.0) > 0
    if not episode.ongoing:
        return lagging and episode.seconds >= ABANDONED_SECONDS
    if lagging:
        had_members = (
            episode.first_healthy is not None and episode.since is not None and episode.first_healthy < episode.since
        )
        return (not had_members) or episode.observed_seconds >= RESTART_SECONDS
    count = sum(other.thing == episode.thing for other in episodes)
    seconds = (capture_end - episode.since).total_seconds() if capture_end and episode.since else 0.0
    return episode.details == ("log",) and count == 1 and seconds >= ABANDONED_SECONDS


def _streams(episodes: Sequence[Episode]) -> Iterator[Condition]:
    dead = [episode for episode in episodes if episode.ongoing]
    if dead:
        things = [thread for episode in dead for thread in episode.details or (episode.thing,)]
        yield make_condition("group_dead", dead, {"threads": len(dead)}, things=things, ongoing=True)


def _rebalancing(by_kind: Mapping[str, Sequence[Episode]]) -> Iterator[Condition]:
    storms = [episode for episode in by_kind.get("rebalance", ()) if episode.occurrences >= MIN_REBALANCES]
    if not storms:
        storms = [episode for episode in by_kind.get("joined", ()) if _generations(episode) >= MIN_REBALANCES]
    snapshots = [episode for episode in by_kind.get("rebalancing_snapshot", ()) if _lasted(episode)]
    if storms:
        rebalances = max(
            episode.occurrences if episode.kind == "rebalance" else _generations(episode) for episode in storms
        )
        figures = {
            "groups": len({episode.thing for episode in storms}),
            "times": rebalances,
            "longest": longest_seconds(storms),
        }
        yield make_condition("group_rebalancing", storms, figures)
    elif snapshots:
        figures = {"groups": len(snapshots)}
        yield make_condition(
            "group_rebalancing", snapshots, figures, ongoing=any(episode.ongoing for episode in snapshots)
        )


def _generations(episode: Episode) -> int:
    return int((episode.max_amount or 0) - (episode.min_amount or 0))


def _lasted(episode: Episode) -> bool:
    """Say whether a group was rebalancing for longer than a restart, or in the only snapshot that there is."""
    return episode.observed_seconds >= RESTART_SECONDS or (episode.ongoing and episode.first_healthy is None)
