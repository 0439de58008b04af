"""Every kind of condition: how bad it is, and its sentence. The worst stands first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.condition import Condition
from leadsman.words import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from leadsman.model import Evidence, Words
    from leadsman.pipeline.conditions.signs import Run

EVIDENCE_KEPT = 5
"""Lines quoted of one condition: of five different things, or of the five longest."""

SUBJECTS_KEPT = 100
"""Things that a condition names; all of them are counted."""

KINDS: Mapping[str, Words] = {
    "partition_without_leader": (
        (
            "{standing:count partition has|partitions have} no leader.",
            "{led_by_dead:count partition|partitions} had no usable leader for {longest:duration}.",
            "{asked:count client|clients} found no usable leader for {longest:duration}.",
            "{partitions:count partition|partitions} had no leader for up to {longest:duration}.",
            "{partitions:count partition|partitions} had no leader for a moment.",
        ),
        "Broker {broker} did not answer and still led them.",
        "Broker {coordinator} coordinated their groups and did not answer.",
        "The metric OfflinePartitionsCount was {offline:count}.",
    ),
    "under_min_isr": (
        (
            "{standing:count partition is|partitions are} below min.insync.replicas.",
            "{partitions:count partition was|partitions were} below min.insync.replicas for up to {longest:duration}.",
            "{partitions:count partition was|partitions were} below min.insync.replicas.",
        ),
        "Brokers refused {refused:count write|writes} with acks=all.",
        "The metric UnderMinIsrPartitionCount was {below:count}.",
    ),
    "disk_full": (
        "A disk is full: {lines:count write|writes} failed on {hosts:count host or service|hosts or services}.",
        "Out of service: {dirs}.",
        "All log directories had failed, so the broker shut down ({shutdown}).",
    ),
    "log_dir_failed": (
        "{hosts:count broker took a log directory|brokers took log directories} out of service after a disk error.",
        "Out of service: {dirs}.",
        "All log directories had failed, so the broker shut down ({shutdown}).",
    ),
    "out_of_memory": ("{hosts:count process|processes} ran out of memory ({what}).",),
    "oom_killed": (
        (
            "The kernel's OOM killer killed {process}: the host had no memory left.",
            "The kernel's OOM killer killed {limited}: its cgroup had reached its memory limit.",
            "The kernel's OOM killer or a memory limit killed {what} {lines:count time times}.",
        ),
    ),
    "broker_fenced": (
        (
            "The controller fenced {brokers:count broker brokers}, and {standing:count is|are} not back.",
            "The controller fenced {brokers:count broker brokers} for up to {longest:duration}.",
            "The controller fenced {brokers:count broker brokers}.",
        ),
        "Clients lost contact {unanswered:duration} before.",
        "The metric FencedBrokerCount was {fenced:count}.",
    ),
    "broker_missing": (
        (
            "{stopped:count broker|brokers} shut down and did not start again.",
            "{standing:count broker has|brokers have} no in-sync replica.",
            "{count:count broker|brokers} had no in-sync replica for up to {longest:duration}.",
        ),
    ),
    "client_never_connected": (
        (
            "Every logged attempt of {advertised:count client|clients} to reach an advertised address failed ({what}).",
            "{never:count client|clients} never connected to Kafka ({what}).",
            "{clients:count client|clients} could not connect to Kafka any more ({what}).",
        ),
    ),
    "certificate": ("{what}. {clients:count client or broker says|clients or brokers say} so.",),
    "authentication_failed": (
        (
            "Authentication with Kafka failed for {clients:count client clients} ({mechanism}).",
            "Authentication with Kafka failed for {clients:count client clients}.",
        ),
    ),
    "authorization_failed": (
        (
            "ACLs refused {denied} ({clients:count client clients}).",
            "ACLs refused {denied} ({hosts:count host hosts}).",
            "ACLs refused {what} to {clients:count client clients}.",
        ),
    ),
    "producer_fenced": (
        (
            "Producers with transactional.id {ids} fenced each other, in {several:count process|processes}.",
            "Producers with the same transactional.id fenced each other, in {several:count process|processes}.",
            "A producer was fenced: a newer one took over its transactional.id ({ids}).",
            "A producer was fenced: a newer one took over its transactional.id.",
        ),
    ),
    "group_dead": (
        (
            "{threads:count Kafka Streams application has|Kafka Streams applications have} no running stream thread.",
            "{standing:count consumer group has|consumer groups have} no members.",
            "{groups:count consumer group had|consumer groups had} no members for up to {longest:duration}.",
        ),
        "The lag is up to {lag:count record records} in a partition.",
    ),
    "unclean_election": (
        "{partitions:count partition|partitions} got a leader that was not in sync: records can be lost.",
    ),
    "under_replicated": (
        (
            "{standing:count partition is|partitions are} under-replicated.",
            "{partitions:count partition was|partitions were} under-replicated for up to {longest:duration}.",
            "{partitions:count partition was|partitions were} under-replicated for a moment.",
        ),
        "The metric UnderReplicatedPartitions was {under:count}.",
    ),
    "lag_growing": ("The lag of {groups:count consumer group|consumer groups} grows: {what}.",),
    "group_rebalancing": (
        (
            "{groups:count consumer group|consumer groups} rebalanced {most:count time|times} in {longest:duration}.",
            "{groups:count consumer group is|consumer groups are} rebalancing.",
        ),
    ),
    "broker_unreachable": (
        (
            "Attempts of {asked:count client|clients} to reach broker {broker} failed for {longest:duration}.",
            "{asked:count client|clients} could not reach {count:count broker brokers} for up to {longest:duration}.",
        ),
    ),
    "offsets_reset": (
        "The offsets of {clients:count consumer|consumers} were out of range: records were skipped or are read again.",
    ),
    "client_throttled": (
        (
            "Quotas throttled {clients:count client|clients} {lines:count time|times}, by up to {most:duration}.",
            "Quotas throttled {clients:count client|clients} {lines:count time|times}.",
        ),
    ),
    "broker_restarted": (
        "{count:count broker|brokers} restarted.",
        "There were {restarts:count restart|restarts} in all.",
        "{unclean:count restart|restarts} came without a clean shutdown.",
        "The longest outage lasted {longest:duration}.",
        "The longest start took {starting:duration}.",
    ),
    "process_killed": ("{what} was killed by SIGKILL {lines:count time times}.",),
    "host_frozen": ("The clock of {hosts:count host|hosts} jumped, or the processors stood still.",),
}
"""Conditions are listed in this order."""

SEVERITY = {kind: place for place, kind in enumerate(KINDS, start=1)}


def condition(
    kind: str,
    found: Sequence[Run],
    figures: Mapping[str, float | str | None],
    *,
    things: Iterable[str] | None = None,
    stands: bool = False,
) -> Condition:
    """Return the condition that the runs amount to. Figures that are None or 0 are none.

    `things` are who had it, where these are not the runs' things; runs that stand come first.
    """
    named = list(dict.fromkeys(things if things is not None else (run.thing for run in found)))
    said = {name: figure for name, figure in figures.items() if figure not in {None, 0, ""}}
    count = int(said.setdefault("count", len(named)))
    return Condition(
        kind=kind,
        title=say(KINDS[kind], said) or f"{kind.replace('_', ' ').capitalize()}.",
        severity=SEVERITY[kind],
        stands=stands,
        count=count,
        subjects=tuple(named[:SUBJECTS_KEPT]),
        since=min((run.since for run in found if run.since), default=None),
        until=None if stands else latest(found),
        figures=said,
        evidence=_lines(found),
    )


GOES_ON = 3.0
"""What comes at irregular times comes again within three times its usual distance in 19 of 20 cases."""


def goes_on(found: Sequence[Run], end: datetime | None) -> bool:
    """Say whether it was seen so late that it goes on: it comes no more seldom than the capture goes on after it."""
    last = max((run.last for run in found if run.last), default=None)
    since = min((run.since for run in found if run.since), default=None)
    times = sum(run.times for run in found)
    if last is None or since is None or end is None or times < LEAST_TIMES:
        return False
    usual = (last - since).total_seconds() / (times - 1)
    return (end - last).total_seconds() <= GOES_ON * usual


LEAST_TIMES = 3
"""Of what was seen fewer times there is no usual distance."""


def latest(found: Iterable[Run]) -> datetime | None:
    """Return when the last of the runs ended, as far as it was seen."""
    return max((end for run in found if (end := run.until or run.last)), default=None)


def longest(found: Iterable[Run]) -> float:
    """Return the seconds of the longest run."""
    return max((run.seconds for run in found), default=0.0)


def standing(found: Sequence[Run]) -> int:
    """Return how many things are in trouble to the end, counting also the runs that were not kept."""
    return found[0].standing if found else 0


def _lines(found: Iterable[Run]) -> tuple[Evidence, ...]:
    lines = dict.fromkeys(run.evidence for run in found)
    return tuple(lines)[:EVIDENCE_KEPT]
