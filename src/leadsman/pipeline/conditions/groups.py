"""Consumer groups: without members, without end in a rebalance, or further behind at each look."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.conditions.kinds import condition, longest
from leadsman.pipeline.conditions.signs import Sign
from leadsman.pipeline.shapes import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from leadsman.condition import Condition
    from leadsman.pipeline.conditions.signs import Run

GROUP = "labels['group']"
MOVING = quoted("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")
EMPTY = f"labels['state'] IN ({quoted('Empty', 'Dead')})"
FROM_LOG = "labels['generation'] IS NOT NULL"
"""Brokers' logs tell the generation, `kafka-consumer-groups` does not."""

SIGNS = (
    Sign(
        kind="group_dead",
        names=(names.GROUP_STATE, names.GROUP_LAG),
        thing=GROUP,
        bad=f"IF(name = '{names.GROUP_STATE}', {EMPTY}, IF(labels['member'] IS NULL, "
        f"IF(coalesce(value, 0) > 0 AND NOT coalesce(labels['state'] NOT IN ('Empty', 'Dead'), false), true, NULL), "
        "false))",
        amount=f"IF(name = '{names.GROUP_LAG}', value, NULL)",
        detail="IF(labels['generation'] IS NULL, 'look', 'log')",
    ),
    Sign(
        kind="rebalancing_look",
        names=(names.GROUP_STATE,),
        where=f"NOT ({FROM_LOG})",
        thing=GROUP,
        bad=f"labels['state'] IN ({MOVING})",
    ),
    Sign(
        kind="rebalance",
        names=(names.GROUP_STATE,),
        where=f"{FROM_LOG} AND labels['state'] IN ({MOVING})",
        thing=GROUP,
        amount="labels['generation']",
        gap_seconds=300.0,
    ),
    Sign(
        kind="joined",
        names=(names.CONSUMER_JOINED,),
        thing="coalesce(nullif(regexp_extract(text, 'groupId=([^,\\\\]]+)', 1), ''), labels['client_id'], subject)",
        amount="labels['generation']",
        gap_seconds=300.0,
    ),
    Sign(
        kind="streams_dead",
        names=(names.CONSUMER_ENDED, names.CONSUMER_JOINED),
        healthy=(names.CONSUMER_JOINED,),
        where=f"name = '{names.CONSUMER_JOINED}' OR labels['how'] = 'all'",
        thing="subject",
        bad=f"name = '{names.CONSUMER_ENDED}'",
        detail="labels['thread']",
    ),
)

ABANDONED_SECONDS = 600.0
"""A log tells that a group is empty, for so long to the capture's end: a deployment fills it again within minutes."""

A_MOMENT = 60.0
"""Seconds. A group that had members a moment ago may have them again soon: its application is being restarted."""

CONSOLE = re.compile(r"console-consumer-\d+$")
"""kafka-console-consumer makes such a group for each of its runs and leaves it."""

MANY = 6
"""Rebalances within a few minutes: a deployment of two or three members causes that many, one without end more."""


def conditions(found: Mapping[str, Sequence[Run]], end: datetime | None) -> Iterator[Condition]:
    """Yield what is wrong with groups. `end` is the last time of which the capture tells."""
    yield from _dead(found.get("group_dead", ()), end)
    yield from _streams(found.get("streams_dead", ()))
    yield from _rebalancing(found)


def _dead(runs: Sequence[Run], end: datetime | None) -> Iterator[Condition]:
    dead = [run for run in runs if not CONSOLE.match(run.thing) and _is_dead(run, end, runs)]
    if dead:
        gone = [run for run in dead if run.stands]
        figures = {
            "standing": len({run.thing for run in gone}),
            "groups": len({run.thing for run in dead}),
            "longest": longest(dead),
            "lag": max((run.most or 0.0 for run in dead), default=0.0),
        }
        yield condition("group_dead", [*gone, *(run for run in dead if not run.stands)], figures, stands=bool(gone))


def _is_dead(run: Run, end: datetime | None, runs: Sequence[Run]) -> bool:
    """Say whether a group was without members for more than a moment, and is missed: it has lag, or it had members."""
    lagging = (run.most or 0.0) > 0
    if not run.stands:
        return lagging and run.seconds >= ABANDONED_SECONDS
    if lagging:
        alive_before = run.well is not None and run.since is not None and run.well < run.since
        return (not alive_before) or run.seen_seconds >= A_MOMENT
    times = sum(other.thing == run.thing for other in runs)
    lasted = (end - run.since).total_seconds() if end and run.since else 0.0
    return run.details == ("log",) and times == 1 and lasted >= ABANDONED_SECONDS


def _streams(runs: Sequence[Run]) -> Iterator[Condition]:
    dead = [run for run in runs if run.stands]
    if dead:
        things = [thread for run in dead for thread in run.details or (run.thing,)]
        yield condition("group_dead", dead, {"threads": len(dead)}, things=things, stands=True)


def _rebalancing(found: Mapping[str, Sequence[Run]]) -> Iterator[Condition]:
    storms = [run for run in found.get("rebalance", ()) if run.times >= MANY]
    if not storms:
        storms = [run for run in found.get("joined", ()) if _generations(run) >= MANY]
    looks = [run for run in found.get("rebalancing_look", ()) if _lasted(run)]
    if storms:
        most = max(run.times if run.kind == "rebalance" else _generations(run) for run in storms)
        figures = {"groups": len({run.thing for run in storms}), "most": most, "longest": longest(storms)}
        yield condition("group_rebalancing", storms, figures)
    elif looks:
        figures = {"groups": len(looks)}
        yield condition("group_rebalancing", looks, figures, stands=any(run.stands for run in looks))


def _generations(run: Run) -> int:
    return int((run.most or 0) - (run.least or 0))


def _lasted(run: Run) -> bool:
    """Say whether a group was in a rebalance for more than a moment, or at the only look that there is."""
    return run.seen_seconds >= A_MOMENT or (run.stands and run.well is None)
