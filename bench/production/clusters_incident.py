"""A live migration cuts a broker off for minutes; some consumers die of their commits and stay dead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.production import clusters_clients as java
from bench.production import clusters_otherclients as others
from bench.production import clusters_snapshots as snapshots
from bench.production.clusters_brokers import Outage, log_orderly_restart, log_outage, return_leaders
from bench.production.clusters_ordinary import write_logs
from bench.production.clusters_timeline import LogTimeline
from bench.production.clusters_world import ConsumerService, SyntheticCluster, make_cluster
from bench.production.clusters_zookeeper import log_zookeeper_outage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

LOST = 4  # the broker that is cut off
BEGIN = 1_795_165_200.0  # 2026-11-20 09:00:00 UTC, where the capture starts


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentOptions:
    """Which telemetry of the incident is in the capture, and how the incident went."""

    brokers: bool = True
    services: bool = True
    topics: bool = True
    groups: bool = True
    cloud: bool = True
    leaderless: bool = False
    zookeeper: bool = False
    deaths: bool = True
    seconds: float = 190.0
    fenced_after: float | None = 92.0


def write_incident(options: IncidentOptions) -> Callable[[Path, Random, int], None]:
    def write(folder: Path, random: Random, size: int) -> None:
        cluster = make_cluster(random, size, name="tern", start=BEGIN, busy_broker=LOST, zookeeper=options.zookeeper)
        write_one_incident(folder, random, size, cluster=cluster, options=options)

    return write


def write_one_incident(
    folder: Path, random: Random, size: int, *, cluster: SyntheticCluster, options: IncidentOptions
) -> None:
    outage = outage_of(cluster, options)
    timeline = LogTimeline()
    log_brokers(cluster, timeline, random, outage=outage, options=options)
    dead = log_clients(cluster, timeline, random, outage=outage, deaths=options.deaths)
    write_logs(
        folder,
        random,
        cluster=cluster,
        timeline=timeline,
        size=size,
        brokers=options.brokers,
        services=options.services,
    )
    write_snapshots(folder, cluster, random, outage=outage, options=options, dead=dead)
    if options.cloud and options.zookeeper:
        snapshots.write_ec2_status(folder, at=outage.start, instance="i-0c9df2a71b5e84d36")
    elif options.cloud:
        seconds = outage.back - outage.start
        snapshots.write_gce_migration(folder, cluster, broker=LOST, at=outage.start, seconds=seconds)


def outage_of(cluster: SyntheticCluster, options: IncidentOptions) -> Outage:
    start = cluster.start + cluster.seconds * 0.41
    fenced = None if options.fenced_after is None else start + options.fenced_after
    return Outage(broker=LOST, start=start, back=start + options.seconds, fenced=fenced, orphaned=options.leaderless)


def log_brokers(
    cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, outage: Outage, options: IncidentOptions
) -> None:
    if options.zookeeper:
        log_zookeeper_outage(cluster, timeline, random, outage=outage)
        return
    log_outage(cluster, timeline, random, outage=outage)
    if not outage.orphaned:
        return_leaders(cluster, timeline, random, broker=LOST, at=outage.back + 240)


def log_clients(
    cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, outage: Outage, deaths: bool = True
) -> set[str]:
    """Consumers whose coordinator is the lost broker are affected; returns the groups that stay dead."""
    hit = [s for s in cluster.services if cluster.coordinator(s.group) == outage.broker]
    well = max(outage.led_again + 0.5, outage.start + 31.5)  # request.timeout.ms is 30 s
    _lose_fetches(cluster, timeline, random, outage=outage)
    unaffected = 3  # its consumers commit in the background and heal
    dead: set[str] = set()
    for order, service in enumerate(hit):
        for pod in range(len(service.pods)):
            if _log(
                cluster,
                timeline,
                random,
                service=service,
                pod=pod,
                outage=outage,
                well=well,
                dies=deaths and order != unaffected,
            ):
                dead.add(service.group)
    return dead


def _lose_fetches(cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, outage: Outage) -> None:
    if outage.back - outage.start < 31:  # noqa: PLR2004 - request.timeout.ms is 30 s
        return
    for service in cluster.services:
        well = cluster.coordinator(service.group) != outage.broker
        for pod in range(len(service.pods)) if well and service.client == "java" else ():
            others.lose_fetches(timeline, random, service=service, pod=pod, outage=outage)


def _log(
    cluster: SyntheticCluster,
    timeline: LogTimeline,
    random: Random,
    *,
    service: ConsumerService,
    pod: int,
    outage: Outage,
    well: float,
    dies: bool,
) -> bool:
    long_enough = well - outage.start > 72  # noqa: PLR2004 - 60 s of commit, and the time until the next one
    if service.client == "java" and dies and long_enough:
        java.die_of_commit(cluster, timeline, random, service=service, pod=pod, outage=outage)
        return True
    if service.client == "streams" and dies and long_enough:
        others.stream_threads_die(cluster, timeline, random, service=service, pod=pod, outage=outage)
        return True
    heal = HEALERS.get(service.client, java.heal)
    heal(cluster, timeline, random, service=service, pod=pod, outage=outage, well=well)
    return False


HEALERS: dict[str, Callable[..., None]] = {
    "java": java.heal,
    "streams": java.time_out_later,
    "streams28": others.stream_threads_heal,
    "librdkafka": others.librdkafka_waits,
    "kafka_python": others.python_heals,
    "aiokafka": others.python_heals,
}


def write_snapshots(
    folder: Path, cluster: SyntheticCluster, random: Random, *, outage: Outage, options: IncidentOptions, dead: set[str]
) -> None:
    before, during, after = outage.start - 900, outage.start + 80, outage.back + 1500
    middle = snapshots.leaderless(LOST) if options.leaderless else snapshots.unreachable(LOST)
    if options.topics:
        for at, view in ((before, snapshots.all_well), (during, middle), (after, snapshots.all_well)):
            snapshots.write_topics(folder, cluster, at=at, view=view)
    if options.groups:
        snapshots.write_groups(folder, cluster, random, at=before)
        for at in (after, after + 1200):
            snapshots.write_groups(folder, cluster, random, at=at, dead=dead, lagging=at - outage.start)
    if cluster.controllers and options.brokers:
        snapshots.write_quorum(folder, cluster, at=before)


def write_five_seconds(folder: Path, random: Random, size: int) -> None:
    """Half of the services wait 5 s for a commit and try again; the others wait 60 s and die."""
    cluster = make_cluster(random, size, name="tern", start=BEGIN, busy_broker=LOST)
    options, timeline = IncidentOptions(), LogTimeline()
    outage = outage_of(cluster, options)
    log_brokers(cluster, timeline, random, outage=outage, options=options)
    hit = [s for s in cluster.services if cluster.coordinator(s.group) == LOST and s.client == "java"]
    dead = {s.group for order, s in enumerate(hit) if order % 2 == 0}
    for service in hit:
        for pod in range(len(service.pods)):
            if service.group in dead:
                _dies(cluster, timeline, random, service=service, pod=pod, outage=outage)
            else:
                _retries(cluster, timeline, random, service=service, pod=pod, outage=outage)
    write_logs(folder, random, cluster=cluster, timeline=timeline, size=size)
    write_snapshots(folder, cluster, random, outage=outage, options=options, dead=dead)


def _dies(
    cluster: SyntheticCluster,
    timeline: LogTimeline,
    random: Random,
    *,
    service: ConsumerService,
    pod: int,
    outage: Outage,
) -> None:
    wait = 5000 if pod == 0 else 60000
    java.die_of_commit(cluster, timeline, random, service=service, pod=pod, outage=outage, wait_ms=wait)


def _retries(
    cluster: SyntheticCluster,
    timeline: LogTimeline,
    random: Random,
    *,
    service: ConsumerService,
    pod: int,
    outage: Outage,
) -> None:
    well = outage.led_again
    java.retry_commits(cluster, timeline, random, service=service, pod=pod, outage=outage, well=well, wait_ms=5000)


def write_two_clusters(folder: Path, random: Random, size: int) -> None:
    """Two clusters with brokers of the same numbers in one folder; only `heron` had the incident.

    Broker 4 of `plover` was restarted in good order.
    """
    hit = make_cluster(random, size // 2, name="heron", start=BEGIN, busy_broker=LOST)
    well = make_cluster(random, size // 2, name="plover", start=BEGIN)
    write_one_incident(folder / "heron", random, size // 2, cluster=hit, options=IncidentOptions(cloud=False))
    timeline = LogTimeline()
    log_orderly_restart(well, timeline, random, broker=LOST, at=well.start + 2400)
    write_logs(folder / "plover", random, cluster=well, timeline=timeline, size=size // 2)
    for cluster in (hit, well):
        snapshots.write_quorum(folder / cluster.name, cluster, at=BEGIN + 600)
    snapshots.write_topics(folder / "plover", well, at=BEGIN + 900, view=snapshots.all_well)
    snapshots.write_groups(folder / "plover", well, random, at=BEGIN + 900)
    snapshots.write_groups(folder / "plover", well, random, at=well.end - 900)
