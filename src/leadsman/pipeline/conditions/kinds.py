"""Every kind of condition: its severity and its sentence. The worst kind comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.model.condition import Condition
from leadsman.words import render

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from leadsman.model import Evidence, Template
    from leadsman.pipeline.conditions.episodes import Episode

EVIDENCE_KEPT = 5
"""Lines quoted for one condition: of five different things, or of the five longest episodes."""

SUBJECTS_KEPT = 100
"""Things that one condition names; all of them are counted."""

KINDS: Mapping[str, Template] = {
    "partition_without_leader": (
        (
            "{ongoing:count partition has|partitions have} no leader.",
            "{led_by_unresponsive:count partition|partitions} had no usable leader for {longest:duration}.",
            "{clients:count client|clients} found no usable leader for {longest:duration}.",
            "{partitions:count partition|partitions} had no leader for up to {longest:duration}.",
            "{partitions:count partition|partitions} had no leader for a moment.",
        ),
        "Broker {broker} was in their ISR and did not answer.",
        "Broker {coordinator} coordinated their groups and did not answer.",
        "The metric OfflinePartitionsCount was {offline:count}.",
    ),
    "under_min_isr": (
        (
            "{ongoing:count partition is|partitions are} below min.insync.replicas.",
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
            "The kernel's OOM killer killed {limited_process}: its cgroup had reached its memory limit.",
            "The kernel's OOM killer or a memory limit killed {what} {lines:count time times}.",
        ),
    ),
    "broker_fenced": (
        (
            "The controller fenced {fenced_brokers}, and {still_fenced} not back.",
            "The controller fenced {fenced_brokers} for up to {longest:duration}.",
            "The controller fenced {fenced_brokers}.",
        ),
        "Clients had got no answer for {unanswered:duration} when the controller fenced it.",
        "The metric FencedBrokerCount was {fenced:count}.",
    ),
    "broker_missing": (
        (
            "{stopped:count broker|brokers} shut down and did not start again: {stopped_ids}.",
            "No replica on {missing_brokers} is in sync.",
            "No replica on {brokers} was in sync for up to {longest:duration}.",
        ),
    ),
    "client_never_connected": (
        (
            "Every logged attempt of {advertised:count client|clients} to reach an advertised address failed ({what}).",
            "{never_connected:count client|clients} never connected to Kafka ({what}).",
            "{clients:count client|clients} could not connect to Kafka any more ({what}).",
        ),
    ),
    "certificate": ("{what}. Reported by {clients:count client or broker|clients or brokers}.",),
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
            "Producers with transactional.id {ids} fenced each other, in {processes:count process|processes}.",
            "Producers with the same transactional.id fenced each other, in {processes:count process|processes}.",
            "A producer was fenced: a newer one took over its transactional.id ({ids}).",
            "A producer was fenced: a newer one took over its transactional.id.",
        ),
    ),
    "group_dead": (
        (
            "{threads:count Kafka Streams application has|Kafka Streams applications have} no running stream thread.",
            "{ongoing:count consumer group has|consumer groups have} no members.",
            "{groups:count consumer group had|consumer groups had} no members for up to {longest:duration}.",
        ),
        "The lag is up to {lag:count record records} in a partition.",
    ),
    "unclean_election": (
        "{partitions:count partition|partitions} got a leader that was not in sync: records can be lost.",
    ),
    "under_replicated": (
        (
            "{ongoing:count partition is|partitions are} under-replicated.",
            "{partitions:count partition was|partitions were} under-replicated for up to {longest:duration}.",
            "{partitions:count partition was|partitions were} under-replicated for a moment.",
        ),
        "The metric UnderReplicatedPartitions was {under:count}.",
    ),
    "lag_growing": ("The lag of {groups:count consumer group|consumer groups} grows: {what}.",),
    "group_rebalancing": (
        (
            "{groups:count consumer group|consumer groups} rebalanced {times:count time|times} in {longest:duration}.",
            "{groups:count consumer group is|consumer groups are} rebalancing.",
        ),
    ),
    "broker_unreachable": (
        (
            "Attempts of {clients:count client|clients} to reach broker {broker} failed for {longest:duration}.",
            "{clients:count client|clients} could not reach {count:count broker brokers} for up to {longest:duration}.",
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

SEVERITY = {kind: rank for rank, kind in enumerate(KINDS, start=1)}


def make_condition(
    kind: str,
    episodes: Sequence[Episode],
    figures: Mapping[str, float | str | None],
    *,
    things: Iterable[str] | None = None,
    ongoing: bool = False,
) -> Condition:
    """Return the condition that the episodes make up. Figures that are None or 0 are left out.

    `things` are the condition's subjects, where these are not the episodes' things; ongoing episodes come first.
    """
    subjects = list(dict.fromkeys(things if things is not None else (episode.thing for episode in episodes)))
    known = {name: figure for name, figure in figures.items() if figure not in {None, 0, ""}}
    count = int(known.setdefault("count", len(subjects)))
    return Condition(
        kind=kind,
        title=render(KINDS[kind], known) or f"{kind.replace('_', ' ').capitalize()}.",
        severity=SEVERITY[kind],
        ongoing=ongoing,
        count=count,
        subjects=tuple(subjects[:SUBJECTS_KEPT]),
        since=min((episode.since for episode in episodes if episode.since), default=None),
        until=None if ongoing else latest_end(episodes),
        figures=known,
        evidence=_lines(episodes),
    )


MEAN_INTERVALS = 3.0
"""Events at random times come again within three times their mean interval in 19 of 20 cases."""

MIN_OCCURRENCES = 3
"""Fewer occurrences have no usable mean interval."""


def is_ongoing(episodes: Sequence[Episode], capture_end: datetime | None) -> bool:
    """Say whether the condition lasts to the capture's end: the time after its last occurrence is no unusual interval.

    The end of the capture is then within `MEAN_INTERVALS` mean intervals of the last occurrence.
    """
    last = max((episode.last_seen for episode in episodes if episode.last_seen), default=None)
    since = min((episode.since for episode in episodes if episode.since), default=None)
    occurrences = sum(episode.occurrences for episode in episodes)
    if last is None or since is None or capture_end is None or occurrences < MIN_OCCURRENCES:
        return False
    mean_interval = (last - since).total_seconds() / (occurrences - 1)
    return (capture_end - last).total_seconds() <= MEAN_INTERVALS * mean_interval


def latest_end(episodes: Iterable[Episode]) -> datetime | None:
    """Return when the last of the episodes ended, as far as events show it."""
    return max((end for episode in episodes if (end := episode.until or episode.last_seen)), default=None)


def longest_seconds(episodes: Iterable[Episode]) -> float:
    """Return the seconds of the longest episode."""
    return max((episode.seconds for episode in episodes), default=0.0)


def ongoing_count(episodes: Sequence[Episode]) -> int:
    """Return how many things are unhealthy to the end, also those whose episodes exceed `MAX_EPISODES`."""
    return episodes[0].ongoing_count if episodes else 0


def _lines(episodes: Iterable[Episode]) -> tuple[Evidence, ...]:
    lines = dict.fromkeys(episode.evidence for episode in episodes)
    return tuple(lines)[:EVIDENCE_KEPT]
