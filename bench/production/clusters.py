"""Cases of whole clusters: brokers that go away or are upgraded, and the consumers that live or die beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.production import clusters_brokerfaults as brokerfaults
from bench.production import clusters_faults as faults
from bench.production.case import ABSENT, PRESENT, UNKNOWN, DiagnosisCase
from bench.production.clusters_calm import (
    write_controller_failover,
    write_frozen,
    write_one_client,
    write_rack_lost,
    write_upgrade,
)
from bench.production.clusters_incident import IncidentOptions, write_five_seconds, write_incident, write_two_clusters

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

MODE = "leaderless_partition"
ALL = "logs of brokers, controllers and services, snapshots of kafka-topics and kafka-consumer-groups"
SERVICES_ONLY = "logs of services"
NOT_PRESENT = ""  # UNKNOWN and ABSENT are both right


def case(
    name: str,
    verdict: str,
    why: str,
    *,
    write: Callable[[Path, Random, int], None],
    form: str = ALL,
    conditions: tuple[str, ...] = (),
) -> DiagnosisCase:
    return DiagnosisCase(
        name=f"clusters/{name}",
        family="clusters",
        form=form,
        why=why,
        expected={MODE: verdict} if verdict else {},
        conditions=conditions,
        write=write,
    )


def cases() -> tuple[DiagnosisCase, ...]:
    return _incidents() + _calm() + _frozen() + _faults()


def _incidents() -> tuple[DiagnosisCase, ...]:
    services = IncidentOptions(brokers=False, topics=False, groups=False, cloud=False)
    none = IncidentOptions(leaderless=True, brokers=False, cloud=False, fenced_after=9.2, seconds=160)
    return (
        case(
            "migration-all-logs",
            PRESENT,
            "Broker 4 is cut off and is fenced only after 92 s. Commits of several groups wait 60 s for it, time out, "
            "and their consumers stay dead after the leaders moved.",
            write=write_incident(IncidentOptions()),
            conditions=("broker_fenced", "under_replicated", "group_dead", "lag_growing"),
        ),
        case(
            "migration-services-only",
            PRESENT,
            "Services that know nothing of each other lose the same coordinator at the same moment for more than 60 s, "
            "and consumers of several groups die of commits that time out in it.",
            write=write_incident(services),
            form=SERVICES_ONLY,
        ),
        case(
            "migration-snapshots-leader-none",
            PRESENT,
            "A snapshot shows partitions with leader none, __consumer_offsets among them, while commits of several "
            "groups time out after 60 s; later snapshots show those groups empty.",
            write=write_incident(none),
            form="logs of services, snapshots of kafka-topics and kafka-consumer-groups",
            conditions=("partition_without_leader", "group_dead", "lag_growing"),
        ),
        case(
            "migration-zookeeper",
            PRESENT,
            "The controller learns after 92 s that broker 4 is gone, and until then its partitions keep a leader that "
            "nobody reaches; consumers die of commits that wait 60 s.",
            write=write_incident(IncidentOptions(zookeeper=True)),
            conditions=("group_dead", "lag_growing", "under_replicated"),
        ),
        case(
            "migration-brokers-only",
            UNKNOWN,
            "The brokers' logs show that broker 4 was away for minutes. Nothing that was handed over shows what "
            "commits or consumers did in it.",
            write=write_incident(IncidentOptions(services=False, topics=False, groups=False)),
            form="logs of brokers and controllers, operations of the cloud",
            conditions=("broker_fenced",),
        ),
        case(
            "commits-of-five-seconds",
            PRESENT,
            "Broker 4 is away for 92 s. Consumers die of commits that time out after 5 s and after 60 s; those that "
            "try again heal.",
            write=write_five_seconds,
            conditions=("broker_fenced", "group_dead"),
        ),
        case(
            "migration-nobody-died",
            NOT_PRESENT,
            "Broker 4 is cut off and fenced only after 92 s, but every consumer waited or tried again, and no group is "
            "dead or lags afterwards.",
            write=write_incident(IncidentOptions(deaths=False)),
            conditions=("broker_fenced", "under_replicated"),
        ),
        case(
            "two-clusters",
            PRESENT,
            "Cluster heron lost its broker 4 for 92 s and consumers died of it. Cluster plover, whose brokers have the "
            "same numbers, only had its own broker 4 restarted in good order.",
            write=write_two_clusters,
            form="two clusters in one folder: " + ALL,
            conditions=("broker_fenced", "group_dead", "lag_growing"),
        ),
    )


def _calm() -> tuple[DiagnosisCase, ...]:
    own = "Every broker handed its leaders over before it stopped. The consumers that died name their own exceptions."
    return (
        case(
            "upgrade-own-exceptions",
            ABSENT,
            own,
            write=write_upgrade(),
            conditions=("broker_restarted", "group_dead", "lag_growing"),
        ),
        case(
            "upgrade-other-time-zone",
            ABSENT,
            own + " Services write local time, six hours behind the brokers.",
            write=write_upgrade(zone_hours=-6),
            conditions=("broker_restarted", "group_dead"),
        ),
        case(
            "upgrade-services-only",
            ABSENT,
            "Coordinators are found again at once, and the consumers that died name their own exceptions.",
            write=write_upgrade(with_brokers=False),
            form=SERVICES_ONLY,
        ),
        case(
            "controller-failover",
            ABSENT,
            "Another controller leads the quorum after 3 s. No partition changed its leader and no client noticed.",
            write=write_controller_failover,
        ),
        case(
            "rack-lost",
            ABSENT,
            "A third of the brokers went at once, all their partitions had new leaders within 10 s, and every client "
            "healed; no commit timed out.",
            write=write_rack_lost,
            conditions=("broker_fenced", "under_replicated", "broker_restarted"),
        ),
        case(
            "one-client-cut-off",
            ABSENT,
            "One pod lost its way to broker 4 and died of its commit. The other clients of that broker committed all "
            "the time, and no leader moved.",
            write=write_one_client(),
        ),
        case(
            "one-client-cut-off-services-only",
            NOT_PRESENT,
            "One pod lost its way to broker 4. Other services committed to the same coordinator at that time, so the "
            "broker was there.",
            write=write_one_client(with_brokers=False),
            form=SERVICES_ONLY,
        ),
    )


def _frozen() -> tuple[DiagnosisCase, ...]:
    return (
        case(
            "frozen-49s-patient",
            ABSENT,
            "Broker 4 stood still for 49 s and was not fenced. No commit waited 60 s and no consumer died.",
            write=write_frozen(fenced_after=None, seconds=49),
            conditions=("under_replicated",),
        ),
        case(
            "frozen-49s-leader-none",
            ABSENT,
            "Partitions had no leader for 49 s, as a snapshot shows. Patient clients waited for it and none died.",
            write=write_frozen(fenced_after=9.1, seconds=49, leaderless=True),
            conditions=("partition_without_leader", "broker_fenced"),
        ),
        case(
            "frozen-45s-fenced-at-9s",
            ABSENT,
            "Broker 4 stood still for 45 s and was fenced after 9 s. Its leaders moved and no consumer died.",
            write=write_frozen(fenced_after=9.1, seconds=45),
            conditions=("broker_fenced", "under_replicated"),
        ),
        case(
            "frozen-45s-services-and-snapshots",
            NOT_PRESENT,
            "Clients lost a coordinator for half a minute and healed. No commit timed out and no group is dead.",
            write=write_frozen(fenced_after=9.1, seconds=45, with_brokers=False),
            form="logs of services, snapshots of kafka-topics and kafka-consumer-groups",
        ),
    )


Fault = tuple[str, "Callable[..., None]", str, tuple[str, ...]]


def _faults() -> tuple[DiagnosisCase, ...]:
    rows = _faults_of_groups() + _faults_of_brokers()
    return (
        *tuple(
            case(name, ABSENT, why, write=faults.faulty(log_fault), conditions=conditions)
            for name, log_fault, why, conditions in rows
        ),
        case(
            "rebalance-storm-services-only",
            ABSENT,
            "The consumers did not poll for longer than max.poll.interval.ms. No broker was away.",
            write=faults.faulty(faults.rebalance_storm, with_brokers=False),
            form="logs of services, snapshots of kafka-topics and kafka-consumer-groups",
            conditions=("group_rebalancing",),
        ),
    )


def _faults_of_groups() -> tuple[Fault, ...]:
    return (
        (
            "rebalance-storm",
            faults.rebalance_storm,
            "A handler takes longer than max.poll.interval.ms and its group rebalances all the time. Leaders stay.",
            ("group_rebalancing",),
        ),
        (
            "static-member-fenced",
            faults.static_fenced,
            "A pod with the same group.instance.id took the place of one that still ran. The cluster was well.",
            (),
        ),
        (
            "offsets-out-of-range",
            faults.offsets_out_of_range,
            "Committed offsets were older than what the log retains. One group reset them, one ended of it.",
            (),
        ),
        (
            "slow-consumer",
            faults.slow_consumer,
            "The service waits for its database. Its group is stable, leaders are there, and its lag grows.",
            ("lag_growing",),
        ),
    )


def _faults_of_brokers() -> tuple[Fault, ...]:
    return (
        (
            "under-min-isr",
            brokerfaults.under_min_isr,
            "Two partitions have too few in-sync replicas and refuse records. Their leaders are there and answer.",
            ("under_min_isr", "under_replicated"),
        ),
        (
            "disk-full",
            brokerfaults.disk_full,
            (
                "Broker 4 stopped because its disk was full. Coordinators moved in 10 s, no commit timed out, no one "
                "died; one partition without another in-sync replica is offline."
            ),
            ("disk_full", "partition_without_leader", "broker_fenced"),
        ),
        (
            "oom-killed",
            brokerfaults.oom_killed,
            "The kernel killed broker 4 for memory. Leaders moved within 10 s and the consumers joined again.",
            ("oom_killed", "broker_fenced", "broker_restarted"),
        ),
        (
            "out-of-memory-error",
            brokerfaults.out_of_memory_error,
            "Broker 4 exited on OutOfMemoryError and was started again. Leaders moved within 10 s, nobody died.",
            ("out_of_memory", "broker_fenced", "broker_restarted"),
        ),
        (
            "certificate-expired",
            brokerfaults.certificate_expired,
            "Followers cannot fetch from broker 4 because its certificate ran out. Its leaders are there.",
            ("certificate", "under_replicated"),
        ),
    )
