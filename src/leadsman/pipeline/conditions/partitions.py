"""Partitions: without a leader, with too few replicas in sync, with a leader that was not in sync."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.conditions.kinds import condition, longest, standing
from leadsman.pipeline.conditions.signs import RUNS_KEPT, Sign

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leadsman.condition import Condition
    from leadsman.pipeline.conditions.signs import Run

PARTITION = "concat_ws('-', labels['topic'], labels['partition'])"
REPLICAS, IN_SYNC = (f"size(filter(split(labels['{label}'], ','), r -> r <> ''))" for label in ("replicas", "isr"))
DESCRIBED = "labels['replicas'] IS NOT NULL"
OF_ONE = "labels['partition'] IS NOT NULL AND labels['topic'] IS NOT NULL"
NOT_ENOUGH = "labels['error'] IN ('NOT_ENOUGH_REPLICAS', 'NOT_ENOUGH_REPLICAS_AFTER_APPEND')"
METRIC_NAME = "lower(replace(labels['metric'], '_', ''))"

REFUSED_GAP = 120.0
"""Seconds without a refused write after which writes are taken again: producers try again for so long by default
(delivery.timeout.ms)."""


def metric(kind: str, name: str) -> Sign:
    """Return the sign that a broker's count of partitions or brokers in trouble is not zero."""
    return Sign(
        kind=f"{kind} metric",
        names=(names.METRIC,),
        where=f"{METRIC_NAME} LIKE '%{name}%'",
        thing="coalesce(labels['instance'], subject, file)",
        bad="value > 0",
        amount="value",
    )


SIGNS = (
    Sign(
        kind="partition_without_leader",
        names=(names.PARTITION_STATE, names.PARTITION_OFFLINE, names.PARTITION_ONLINE),
        where=OF_ONE,
        thing=PARTITION,
        healthy=(names.PARTITION_ONLINE,),
        bad=f"name = '{names.PARTITION_OFFLINE}' OR name = '{names.PARTITION_STATE}' AND labels['leader'] = 'none'",
    ),
    metric("partition_without_leader", "offlinepartitionscount"),
    Sign(
        kind="under_replicated",
        names=(names.PARTITION_STATE, names.ISR_SHRUNK, names.ISR_UPDATED),
        where=f"{OF_ONE} AND (name <> '{names.PARTITION_STATE}' OR {DESCRIBED})",
        thing=PARTITION,
        bad=(
            f"CASE name WHEN '{names.PARTITION_STATE}' THEN {IN_SYNC} < {REPLICAS} "
            f"WHEN '{names.ISR_SHRUNK}' THEN true END"
        ),
        amount=IN_SYNC,
        full=f"IF(name = '{names.ISR_SHRUNK}', size(split(labels['before'], ',')), NULL)",
    ),
    metric("under_replicated", "underreplicatedpartitions"),
    Sign(
        kind="under_min_isr",
        names=(names.ISR_UPDATED,),
        where=OF_ONE,
        thing=PARTITION,
        bad="labels['min_isr'] IS NOT NULL",
    ),
    metric("under_min_isr", "underminisrpartitioncount"),
    Sign(
        kind="write_refused",
        names=(names.WRITE_REFUSED, names.PRODUCE_RETRIED, names.COMMIT_FAILED),
        where=f"name = '{names.WRITE_REFUSED}' OR {NOT_ENOUGH}",
        thing=f"coalesce(nullif({PARTITION}, ''), 'unknown')",
        gap_seconds=REFUSED_GAP,
    ),
    Sign(
        kind="unclean_election",
        names=(names.UNCLEAN_ELECTION,),
        thing=PARTITION,
    ),
    Sign(
        kind="in_sync",
        names=(names.PARTITION_STATE,),
        where=DESCRIBED,
        each="split(labels['replicas'], ',')",
        thing="item",
        anywhere=True,
        bad="labels['leader'] = 'none' OR NOT array_contains(split(labels['isr'], ','), item)",
    ),
)
"""`in_sync` is of each replica of a partition: a broker that is in sync nowhere is missing (`brokers`)."""

NOT_FOUND = (names.NOT_LEADER, names.LEADER_NOT_AVAILABLE)

CLIENT_SIGNS = (
    Sign(
        kind="leader_not_found",
        names=NOT_FOUND,
        where="labels['client_id'] IS NOT NULL",
        thing="coalesce(labels['topic'], 'any topic')",
        gap_seconds=15.0,
    ),
)

A_MOMENT = 1.0
"""Seconds. A controller gives a partition another leader within tens of milliseconds."""

LEAST_SECONDS = 10.0
"""A change of leader in order is over within a few seconds; a client looks for the new one every 100 ms."""


def conditions(found: Mapping[str, Sequence[Run]]) -> Iterator[Condition]:
    """Yield what is wrong with partitions."""
    yield from _without_leader(found)
    yield from _under_min_isr(found)
    yield from _under_replicated(found)
    if unclean := found.get("unclean_election"):
        yield condition("unclean_election", unclean, {"partitions": unclean[0].things})


def _without_leader(found: Mapping[str, Sequence[Run]]) -> Iterator[Condition]:
    every, metrics = found.get("partition_without_leader", ()), found.get("partition_without_leader metric", ())
    runs = [run for run in every if run.stands or run.since is None or run.seconds >= A_MOMENT]
    if runs or metrics:
        figures = {
            "partitions": runs[0].things if len(every) >= RUNS_KEPT else len({run.thing for run in runs}),
            "standing": standing(runs),
            "longest": longest(runs or metrics),
            "offline": max((run.most or 0 for run in metrics), default=None),
        }
        yield condition(
            "partition_without_leader", [*runs, *metrics], figures, stands=bool(standing(runs) or standing(metrics))
        )
    lost = [run for run in found.get("leader_not_found", ()) if run.subject_count > 1 and run.seconds >= LEAST_SECONDS]
    if lost and not runs:
        asked = max(run.subject_count for run in lost)
        yield condition(
            "partition_without_leader",
            lost,
            {"asked": asked, "longest": longest(lost)},
            things=(run.thing for run in lost),
        )


def _under_min_isr(found: Mapping[str, Sequence[Run]]) -> Iterator[Condition]:
    runs, refused = found.get("under_min_isr", ()), found.get("write_refused", ())
    metrics = found.get("under_min_isr metric", ())
    every = [*runs, *refused, *metrics]
    if every:
        figures = {
            "partitions": len({run.thing for run in (*runs, *refused)}) or None,
            "standing": len({run.thing for run in runs if run.stands}),
            "longest": longest(every),
            "refused": sum(run.times for run in refused),
            "below": max((run.most or 0 for run in metrics), default=None),
        }
        yield condition("under_min_isr", every, figures, stands=any(run.stands for run in runs))


def _under_replicated(found: Mapping[str, Sequence[Run]]) -> Iterator[Condition]:
    runs, metrics = found.get("under_replicated", ()), found.get("under_replicated metric", ())
    if runs or metrics:
        figures = {
            "partitions": runs[0].things if runs else None,
            "standing": standing(runs),
            "longest": longest(runs or metrics),
            "under": max((run.most or 0 for run in metrics), default=None),
        }
        yield condition(
            "under_replicated", [*runs, *metrics], figures, stands=bool(standing(runs) or standing(metrics))
        )
