"""Clusters that moved their leaders in good order, or lost one for less time than any client minded."""

# ruff: noqa: E501 - a line of a log stays one line here
from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bench.production import clusters_brokers as brokers
from bench.production import clusters_clients as java
from bench.production import clusters_snapshots as snapshots
from bench.production.case import CaptureSize
from bench.production.clusters_brokers import Outage
from bench.production.clusters_incident import BEGIN, LOST, log_clients
from bench.production.clusters_ordinary import write_logs
from bench.production.clusters_timeline import Event, LogTimeline, zulu
from bench.production.clusters_world import ConsumerService, SyntheticCluster, make_cluster, offsets_partition

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

OWN_EXCEPTIONS = (
    (
        "org.apache.kafka.common.errors.RecordDeserializationException: Error deserializing key/value for partition {topic}-2 at offset 88121904. If needed, please seek past the record to continue consumption.",
        "\tat org.apache.kafka.clients.consumer.internals.CompletedFetch.newRecordDeserializationException(CompletedFetch.java:346)",
        "\tat org.apache.kafka.clients.consumer.KafkaConsumer.poll(KafkaConsumer.java:874)",
        "Caused by: org.apache.kafka.common.errors.SerializationException: Unknown magic byte!",
    ),
    (
        'java.lang.NullPointerException: Cannot invoke "java.math.BigDecimal.signum()" because the return value of "net.example.Order.total()" is null',
        "\tat net.example.handler.OrderHandler.handle(OrderHandler.java:61)",
        "\tat net.example.PollLoop.run(PollLoop.java:44)",
    ),
    (
        "java.sql.SQLTransientConnectionException: HikariPool-1 - Connection is not available, request timed out after 30001ms.",
        "\tat com.zaxxer.hikari.pool.HikariPool.createTimeoutException(HikariPool.java:696)",
        "\tat net.example.Repository.upsert(Repository.java:118)",
    ),
)


def write_upgrade(*, zone_hours: float = 0.0, with_brokers: bool = True) -> Callable[[Path, Random, int], None]:
    """Every broker is restarted in turn; three consumers die of their own exceptions meanwhile."""

    def write(folder: Path, random: Random, size: int) -> None:
        cluster = make_cluster(random, size, name="tern", start=BEGIN)
        moved = tuple(replace(s, zone_hours=zone_hours) for s in cluster.services)
        cluster, timeline = replace(cluster, services=moved), LogTimeline()
        gap = (cluster.seconds - 1500) / len(cluster.brokers)
        for order, broker in enumerate(cluster.brokers):
            at = cluster.start + 420 + order * gap + random.uniform(0, 60)
            brokers.log_orderly_restart(cluster, timeline, random, broker=broker, at=at)
            _follow(cluster, timeline, random, broker=broker, at=at)
        dead = _die_alone(cluster, timeline, random, at=cluster.start + cluster.seconds * 0.5)
        write_logs(folder, random, cluster=cluster, timeline=timeline, size=size, brokers=with_brokers)
        if with_brokers:
            _before_and_after(folder, cluster, random, dead=dead)

    return write


def _before_and_after(folder: Path, cluster: SyntheticCluster, random: Random, *, dead: set[str]) -> None:
    end = cluster.end - 120
    snapshots.write_topics(folder, cluster, at=cluster.start + 60, view=snapshots.all_well)
    snapshots.write_topics(folder, cluster, at=end, view=snapshots.all_well)
    snapshots.write_groups(folder, cluster, random, at=cluster.start + 60)
    for at in (end - 1800, end):
        snapshots.write_groups(folder, cluster, random, at=at, dead=dead, lagging=at - cluster.start)


def _follow(cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, broker: int, at: float) -> None:
    """Consumers of groups that the broker coordinated find the next coordinator in a tenth of a second."""
    for service in cluster.services:
        if service.client not in ("java", "streams28") or cluster.coordinator(service.group) != broker:
            continue
        for path in service.files:
            timeline.add(path, *_moved(cluster, random, service=service, broker=broker, at=at + random.uniform(0.1, 2)))


def _moved(
    cluster: SyntheticCluster, random: Random, *, service: ConsumerService, broker: int, at: float
) -> tuple[Event, ...]:
    thread, log_prefix = f"{service.name}-poll-0", java.prefix(service)
    new_leader = java.node_text(cluster, java.new_leader(cluster, service))
    gone = f"{log_prefix} Group coordinator {java.node_text(cluster, broker)} is unavailable or invalid due to cause: error response NOT_COORDINATOR. isDisconnected: false. Rediscovery will be attempted."
    session = f"(sessionId={random.getrandbits(30)}, epoch={random.randint(100, 9000)})"
    refused = f"{log_prefix} Connection to node {broker} ({cluster.host(broker)}/10.20.0.{broker}:9092) could not be established. Node may not be available."
    return (
        Event(at, "INFO", java.COORDINATOR, gone, (), thread),
        Event(
            at + 0.12, "INFO", java.COORDINATOR, f"{log_prefix} Discovered group coordinator {new_leader}", (), thread
        ),
        Event(at + 2.2, "INFO", java.NETWORK, f"{log_prefix} Node {broker} disconnected.", (), thread),
        Event(
            at + 2.3,
            "INFO",
            "org.apache.kafka.clients.FetchSessionHandler",
            f"{log_prefix} Error sending fetch request {session} to node {broker}:",
            ("org.apache.kafka.common.errors.DisconnectException",),
            thread,
        ),
        Event(at + 3.4, "WARN", java.NETWORK, refused, (), thread),
    )


def _die_alone(cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, at: float) -> set[str]:
    victims = [s for s in cluster.services if s.client == "java"][: len(OWN_EXCEPTIONS)]
    for service, trace in zip(victims, OWN_EXCEPTIONS, strict=True):
        for path in service.files:
            when = at + random.uniform(-1500, 1500)
            rows = tuple(row.format(topic=service.topic) for row in trace)
            text = "poll loop ended by an exception, closing the consumer"
            loop = f"net.example.{service.name.replace('-', '')}.PollLoop"
            timeline.add(path, Event(when, "ERROR", loop, text, rows, f"{service.name}-poll-0"))
            timeline.add(path, *java.close_consumer(service, at=when + 0.01))
            timeline.be_idle(path, when, cluster.end)
    return {service.group for service in victims}


def write_controller_failover(folder: Path, random: Random, size: int) -> None:
    """The active controller dies; another leads the quorum 3 s later, and no partition changes its leader."""
    cluster, timeline = make_cluster(random, size, name="tern", start=BEGIN, busy_broker=LOST), LogTimeline()
    at = cluster.start + cluster.seconds * 0.4
    raft, quorum = "org.apache.kafka.raft.KafkaRaftClient", "org.apache.kafka.controller.QuorumController"
    path = "controllers/controller-3002/server.log"
    timeline.be_quiet(brokers.controller_log(3001), at, at + 95)
    timeline.add(
        path,
        Event(
            at + 2.4,
            "INFO",
            "org.apache.kafka.raft.QuorumState",
            "[RaftManager id=3002] Attempting durable transition to CandidateState(localId=3002, localDirectoryId=RkXr2bTQ0yWn4mVd7HsPgA,epoch=42, retries=1, voteStates={}, highWatermark=Optional[LogOffsetMetadata(offset=8810219, metadata=Optional.empty)], electionTimeoutMs=1440) from FollowerState(fetchTimeoutMs=2000, epoch=41, leader=3001, voters=[3001, 3002, 3003], highWatermark=Optional[LogOffsetMetadata(offset=8810219, metadata=Optional.empty)], fetchingSnapshot=Optional.empty)",
        ),
        Event(
            at + 2.9,
            "INFO",
            raft,
            "[RaftManager id=3002] High watermark set to LogOffsetMetadata(offset=8810221, metadata=Optional.empty) for the first time for epoch 42 based on indexOfHw 1 and voters [3001, 3002, 3003]",
        ),
    )
    timeline.add(
        brokers.controller_log(3002),
        Event(
            at + 3.0,
            "INFO",
            quorum,
            "[QuorumController id=3002] Becoming the active controller at epoch 42, next write offset 8810221.",
        ),
    )
    timeline.add(
        brokers.controller_log(3003),
        Event(at + 3.0, "INFO", quorum, "[QuorumController id=3003] In the new epoch 42, the leader is 3002."),
    )
    for broker in cluster.brokers:
        text = f"[broker-{broker}-to-controller-heartbeat-channel-manager]: Recorded new KRaft controller, from now on will use node controller-3002.{cluster.name}.example.net:9093 (id: 3002 rack: null)"
        timeline.add(
            brokers.server_log(broker),
            Event(at + 3.0 + random.random(), "INFO", "kafka.server.NodeToControllerRequestThread", text),
        )
    write_logs(folder, random, cluster=cluster, timeline=timeline, size=size)
    snapshots.write_quorum(folder, cluster, at=at - 600)
    snapshots.write_quorum(folder, cluster, at=at + 300, leader=3002, epoch=42)
    _before_and_after(folder, cluster, random, dead=set())


def write_rack_lost(folder: Path, random: Random, size: int) -> None:
    """A third of the brokers lose power at once; leaders of all their partitions are elected within a second."""
    count = 9 if size < CaptureSize.MEDIUM else 30
    cluster = make_cluster(random, size, name="tern", start=BEGIN, brokers=count, busy_broker=LOST)
    timeline, at = LogTimeline(), cluster.start + cluster.seconds * 0.4
    gone = tuple(broker for broker in cluster.brokers if broker % 3 == 1)
    for broker in gone:
        outage = Outage(broker=broker, start=at, back=at + 2400, fenced=at + 9 + random.random() / 2)
        brokers.log_fetchers(cluster, timeline, random, outage=outage)
        brokers.log_fence(cluster, timeline, outage=outage)
        brokers.move_leaders(cluster, timeline, random, broker=broker, at=at + 9.7)
        brokers.log_start(cluster, timeline, random, broker=broker, at=outage.back, unclean=True)
        brokers.return_leaders(cluster, timeline, random, broker=broker, at=outage.back + 240)
        timeline.be_quiet(brokers.server_log(broker), at, outage.back)
        log_clients(cluster, timeline, random, outage=outage, deaths=False)
    write_logs(folder, random, cluster=cluster, timeline=timeline, size=size)
    snapshots.write_topics(folder, cluster, at=at + 600, view=snapshots.without(*gone))
    _before_and_after(folder, cluster, random, dead=set())


def write_one_client(*, with_brokers: bool = True) -> Callable[[Path, Random, int], None]:
    """One pod loses its way to one broker; its group's other pods and all other groups keep working there."""

    def write(folder: Path, random: Random, size: int) -> None:
        cluster, timeline = make_cluster(random, size, name="tern", start=BEGIN, busy_broker=LOST), LogTimeline()
        start = cluster.start + cluster.seconds * 0.4
        outage = Outage(broker=LOST, start=start, back=start + 300)
        service = next(s for s in cluster.services if s.client == "java" and cluster.coordinator(s.group) == LOST)
        java.die_of_commit(cluster, timeline, random, service=service, pod=0, outage=outage)
        _without_member(timeline, random, service=service, at=start + 45)
        _others_commit(cluster, timeline, random, but=service.files[0], start=start)
        write_logs(folder, random, cluster=cluster, timeline=timeline, size=size, brokers=with_brokers)
        if with_brokers:
            snapshots.write_topics(folder, cluster, at=start + 50, view=snapshots.all_well)
            _before_and_after(folder, cluster, random, dead=set())

    return write


def _without_member(timeline: LogTimeline, random: Random, *, service: ConsumerService, at: float) -> None:
    coordinator, log_prefix = "kafka.coordinator.group.GroupCoordinator", f"[GroupCoordinator {LOST}]:"
    member, generation = f"consumer-{service.group}-1-{random.getrandbits(60):x}", random.randint(9, 80)
    timeline.add(
        brokers.server_log(LOST),
        Event(
            at,
            "INFO",
            coordinator,
            f"{log_prefix} Member {member} in group {service.group} has failed, removing it from the group",
        ),
        Event(
            at + 0.01,
            "INFO",
            coordinator,
            f"{log_prefix} Preparing to rebalance group {service.group} in state PreparingRebalance with old generation {generation} (__consumer_offsets-{offsets_partition(service.group)}) (reason: removing member {member} on heartbeat expiration)",
        ),
        Event(
            at + 2.4,
            "INFO",
            coordinator,
            f"{log_prefix} Stabilized group {service.group} generation {generation + 1} (__consumer_offsets-{offsets_partition(service.group)}) with {len(service.pods) - 1} members",
        ),
    )


def _others_commit(cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, but: str, start: float) -> None:
    for service in cluster.services:
        for path in service.files if cluster.coordinator(service.group) == LOST else ():
            at = start - 60
            while path != but and at < start + 300:
                at += random.uniform(8, 15)
                text = f"committed offsets of {random.randint(1, 4)} partitions in {random.randint(2, 19)} ms"
                loop = f"net.example.{service.name.replace('-', '')}.PollLoop"
                timeline.add(path, Event(at, "INFO", loop, text, (), f"{service.name}-poll-0"))


def write_frozen(
    *, fenced_after: float | None, seconds: float, leaderless: bool = False, with_brokers: bool = True
) -> Callable[[Path, Random, int], None]:
    """A pause of the broker's process or machine that every client outlives."""

    def write(folder: Path, random: Random, size: int) -> None:
        cluster, timeline = make_cluster(random, size, name="tern", start=BEGIN, busy_broker=LOST), LogTimeline()
        start = cluster.start + cluster.seconds * 0.4
        fenced = None if fenced_after is None else start + fenced_after
        outage = Outage(broker=LOST, start=start, back=start + seconds, fenced=fenced, orphaned=leaderless)
        brokers.log_outage(cluster, timeline, random, outage=outage)
        log_clients(cluster, timeline, random, outage=outage, deaths=False)
        write_logs(folder, random, cluster=cluster, timeline=timeline, size=size, brokers=with_brokers)
        _write_pauses(folder, cluster, random, outage=outage)
        view = snapshots.leaderless(LOST) if leaderless else snapshots.unreachable(LOST)
        view = snapshots.without(LOST) if fenced and not leaderless else view
        snapshots.write_topics(folder, cluster, at=start + 44, view=view)
        _before_and_after(folder, cluster, random, dead=set())

    return write


def _write_pauses(folder: Path, cluster: SyntheticCluster, random: Random, *, outage: Outage) -> None:
    """kafkaServer-gc.log of the broker: young collections of milliseconds, and the long one."""
    rows, at, number = [], cluster.start, 8100
    while at < cluster.end:
        long = outage.start - 40 < at <= outage.start
        at, took = (outage.back, (outage.back - outage.start) * 1000) if long else (at + 40, random.uniform(4, 19))
        kind = "Full (G1 Compaction Pause)" if long else "Young (Normal) (G1 Evacuation Pause)"
        number += 1
        rows.append(
            f"[{zulu(at)[:-1]}+0000][{at - BEGIN + 400000:.3f}s] GC({number}) Pause {kind} {random.randint(5200, 8100)}M->{random.randint(2100, 4100)}M(8192M) {took:.3f}ms\n"
        )
    snapshots.write(folder / f"brokers/kafka-{LOST}/kafkaServer-gc.log", rows)
