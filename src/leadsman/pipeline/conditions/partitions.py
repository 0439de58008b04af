"""Conditions of partitions: no leader, too few in-sync replicas, an unclean leader election."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.conditions.episodes import MAX_EPISODES
from leadsman.pipeline.conditions.kinds import longest_seconds, make_condition, ongoing_count
from leadsman.pipeline.conditions.samples import HealthRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leadsman.model.condition import Condition
    from leadsman.pipeline.conditions.episodes import Episode

PARTITION = "concat_ws('-', labels['topic'], labels['partition'])"
REPLICAS, IN_SYNC = (f"size(array_remove(split(labels['{label}'], ','), ''))" for label in ("replicas", "isr"))
DESCRIBED = "labels['replicas'] IS NOT NULL"
NAMES_PARTITION = "labels['partition'] IS NOT NULL AND labels['topic'] IS NOT NULL"
NOT_ENOUGH_REPLICAS = "labels['error'] IN ('NOT_ENOUGH_REPLICAS', 'NOT_ENOUGH_REPLICAS_AFTER_APPEND')"
METRIC_NAME = "lower(replace(labels['metric'], '_', ''))"

REFUSED_GAP_SECONDS = 120.0
"""So long without a refused write, and brokers accept writes again: producers retry for so long by default
(`delivery.timeout.ms`)."""


def metric_rule(kind: str, name: str) -> HealthRule:
    """Return the rule for a broker's metric that counts unhealthy partitions or brokers: above zero is unhealthy."""
    return HealthRule(
        kind=f"{kind} metric",
        names=(names.METRIC,),
        where=f"{METRIC_NAME} LIKE '%{name}%'",
        thing="coalesce(labels['instance'], subject, file)",
        unhealthy="value > 0",
        amount="value",
    )


RULES = (
    HealthRule(
        kind="partition_without_leader",
        names=(names.PARTITION_STATE, names.PARTITION_OFFLINE, names.PARTITION_ONLINE),
        where=NAMES_PARTITION,
        thing=PARTITION,
        healthy_names=(names.PARTITION_ONLINE,),
        unhealthy=(
            f"name = '{names.PARTITION_OFFLINE}' OR name = '{names.PARTITION_STATE}' AND labels['leader'] = 'none'"
        ),
    ),
    metric_rule("partition_without_leader", "offlinepartitionscount"),
    HealthRule(
        kind="under_replicated",
        names=(names.PARTITION_STATE, names.ISR_SHRUNK, names.ISR_UPDATED),
        where=f"{NAMES_PARTITION} AND (name <> '{names.PARTITION_STATE}' OR {DESCRIBED})",
        thing=PARTITION,
        unhealthy=(
            f"CASE name WHEN '{names.PARTITION_STATE}' THEN {IN_SYNC} < {REPLICAS} "
            f"WHEN '{names.ISR_SHRUNK}' THEN true END"
        ),
        amount=IN_SYNC,
        expected_amount=f"IF(name = '{names.ISR_SHRUNK}', size(split(labels['before'], ',')), NULL)",
    ),
    metric_rule("under_replicated", "underreplicatedpartitions"),
    HealthRule(
        kind="under_min_isr",
        names=(names.ISR_UPDATED,),
        where=NAMES_PARTITION,
        thing=PARTITION,
        unhealthy="labels['min_isr'] IS NOT NULL",
    ),
    metric_rule("under_min_isr", "underminisrpartitioncount"),
    HealthRule(
        kind="write_refused",
        names=(names.WRITE_REFUSED, names.PRODUCE_RETRIED, names.COMMIT_FAILED),
        where=f"name = '{names.WRITE_REFUSED}' OR {NOT_ENOUGH_REPLICAS}",
        thing=f"coalesce(nullif({PARTITION}, ''), 'unknown')",
        gap_seconds=REFUSED_GAP_SECONDS,
    ),
    HealthRule(
        kind="unclean_election",
        names=(names.UNCLEAN_ELECTION,),
        thing=PARTITION,
    ),
    HealthRule(
        kind="in_sync",
        names=(names.PARTITION_STATE,),
        where=DESCRIBED,
        items="split(labels['replicas'], ',')",
        unhealthy_items=(
            "IF(labels['leader'] = 'none', split(labels['replicas'], ','), "
            "array_except(split(labels['replicas'], ','), split(labels['isr'], ',')))"
        ),
        healthy_if_any=True,
    ),
)
"""`in_sync` has a sample for each replica of a partition; a broker without in-sync replica is missing (`brokers`)."""

LEADER_NOT_FOUND = (names.NOT_LEADER, names.LEADER_NOT_AVAILABLE)

CLIENT_RULES = (
    HealthRule(
        kind="leader_not_found",
        names=LEADER_NOT_FOUND,
        where="labels['client_id'] IS NOT NULL",
        thing="coalesce(labels['topic'], 'any topic')",
        gap_seconds=15.0,
    ),
)

ELECTION_SECONDS = 1.0
"""A controller elects another leader for a partition within tens of milliseconds."""

MIN_SECONDS = 10.0
"""A planned change of leader is over within a few seconds; a client looks for the new leader every 100 ms."""


def conditions(by_kind: Mapping[str, Sequence[Episode]]) -> Iterator[Condition]:
    """Yield the conditions of partitions."""
    yield from _without_leader(by_kind)
    yield from _under_min_isr(by_kind)
    yield from _under_replicated(by_kind)
    if unclean := by_kind.get("unclean_election"):
        yield make_condition("unclean_election", unclean, {"partitions": unclean[0].thing_count})


def _without_leader(by_kind: Mapping[str, Sequence[Episode]]) -> Iterator[Condition]:
    every, metrics = by_kind.get("partition_without_leader", ()), by_kind.get("partition_without_leader metric", ())
    episodes = [
        episode for episode in every if episode.ongoing or episode.since is None or episode.seconds >= ELECTION_SECONDS
    ]
    if episodes or metrics:
        figures = {
            "partitions": episodes[0].thing_count
            if len(every) >= MAX_EPISODES
            else len({episode.thing for episode in episodes}),
            "ongoing": ongoing_count(episodes),
            "longest": longest_seconds(episodes or metrics),
            "offline": max((episode.max_amount or 0 for episode in metrics), default=None),
        }
        yield make_condition(
            "partition_without_leader",
            [*episodes, *metrics],
            figures,
            ongoing=bool(ongoing_count(episodes) or ongoing_count(metrics)),
        )
    lost = [
        episode
        for episode in by_kind.get("leader_not_found", ())
        if episode.subject_count > 1 and episode.seconds >= MIN_SECONDS
    ]
    if lost and not episodes:
        clients = max(episode.subject_count for episode in lost)
        yield make_condition(
            "partition_without_leader",
            lost,
            {"clients": clients, "longest": longest_seconds(lost)},
            things=(episode.thing for episode in lost),
        )


def _under_min_isr(by_kind: Mapping[str, Sequence[Episode]]) -> Iterator[Condition]:
    episodes, refused = by_kind.get("under_min_isr", ()), by_kind.get("write_refused", ())
    metrics = by_kind.get("under_min_isr metric", ())
    every = [*episodes, *refused, *metrics]
    if every:
        figures = {
            "partitions": len({episode.thing for episode in (*episodes, *refused)}) or None,
            "ongoing": len({episode.thing for episode in episodes if episode.ongoing}),
            "longest": longest_seconds(every),
            "refused": sum(episode.occurrences for episode in refused),
            "below": max((episode.max_amount or 0 for episode in metrics), default=None),
        }
        yield make_condition("under_min_isr", every, figures, ongoing=any(episode.ongoing for episode in episodes))


def _under_replicated(by_kind: Mapping[str, Sequence[Episode]]) -> Iterator[Condition]:
    episodes, metrics = by_kind.get("under_replicated", ()), by_kind.get("under_replicated metric", ())
    if episodes or metrics:
        figures = {
            "partitions": episodes[0].thing_count if episodes else None,
            "ongoing": ongoing_count(episodes),
            "longest": longest_seconds(episodes or metrics),
            "under": max((episode.max_amount or 0 for episode in metrics), default=None),
        }
        yield make_condition(
            "under_replicated",
            [*episodes, *metrics],
            figures,
            ongoing=bool(ongoing_count(episodes) or ongoing_count(metrics)),
        )
