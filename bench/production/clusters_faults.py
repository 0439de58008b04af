"""Faults of groups and of the programs that are their members, in clusters that are well."""

# ruff: noqa: E501 - a line of a log stays one line here
from __future__ import annotations

from typing import TYPE_CHECKING

from bench.production import clusters_brokers as brokers
from bench.production import clusters_clients as java
from bench.production import clusters_snapshots as snapshots
from bench.production.clusters_incident import BEGIN, LOST
from bench.production.clusters_ordinary import write_logs
from bench.production.clusters_timeline import Event, LogTimeline
from bench.production.clusters_world import (
    ConsumerService,
    SyntheticCluster,
    make_cluster,
    offsets_partition,
    uuid36,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path
    from random import Random

GROUPS = "kafka.coordinator.group.GroupCoordinator"


def faulty(log_fault: Callable[..., None], *, with_brokers: bool = True) -> Callable[[Path, Random, int], None]:
    """A case whose fault begins when a third of the time is over. `tell` adds to the timeline and writes snapshots."""

    def write(folder: Path, random: Random, size: int) -> None:
        cluster, timeline = make_cluster(random, size, name="tern", start=BEGIN, busy_broker=LOST), LogTimeline()
        at = cluster.start + cluster.seconds / 3
        snapshots.write_topics(folder, cluster, at=cluster.start + 60, view=snapshots.all_well)
        snapshots.write_groups(folder, cluster, random, at=cluster.start + 60)
        log_fault(cluster, timeline, random, at=at, folder=folder)
        write_logs(folder, random, cluster=cluster, timeline=timeline, size=size, brokers=with_brokers)

    return write


def java_services(cluster: SyntheticCluster) -> list[ConsumerService]:
    return [service for service in cluster.services if service.client == "java"]


def rebalance_storm(
    cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, at: float, folder: Path
) -> None:
    """Handlers take longer than max.poll.interval.ms; the group rebalances every few minutes for an hour."""
    service = java_services(cluster)[0]
    for turn in range(12):
        for path in service.files:
            when = at + turn * 310 + random.uniform(0, 60)
            timeline.add(path, *_kicked(cluster, random, service=service, at=when))
            _rebalance(cluster, timeline, random, service=service, at=when, generation=40 + turn * 2)
    for after in (900, 2400):
        snapshots.write_groups(folder, cluster, random, at=at + after, slow=(service.group,), lagging=after)
        state = folder / "snapshots" / f"group-state-{after}.kafka-consumer-groups-state.txt"
        where = f"{cluster.host(cluster.coordinator(service.group))}:9092  ({cluster.coordinator(service.group)})"
        head = (
            f"\n{'GROUP':<25} {'COORDINATOR (ID)':<{len(where)}} {'ASSIGNMENT-STRATEGY':<20} {'STATE':<15} #MEMBERS\n"
        )
        snapshots.write(
            state,
            (
                f"\nWarning: Consumer group '{service.group}' is rebalancing.\n",
                head,
                f"{service.group:<25} {where} {'':<20} {'PreparingRebalance':<15} {len(service.pods)}\n",
            ),
        )


def _kicked(cluster: SyntheticCluster, random: Random, *, service: ConsumerService, at: float) -> tuple[Event, ...]:
    log_prefix, member = java.prefix(service), f"consumer-{service.group}-1-{uuid36(random)}"
    beat, loop = f"kafka-coordinator-heartbeat-thread | {service.group}", f"{service.name}-poll-0"
    node = java.node_text(cluster, cluster.coordinator(service.group))
    poll = f"{log_prefix} consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than the configured max.poll.interval.ms, which typically implies that the poll loop is spending too much time processing messages. You can address this either by increasing max.poll.interval.ms or by reducing the maximum size of batches returned in poll() with max.poll.records."
    failed = "org.apache.kafka.clients.consumer.CommitFailedException: Offset commit cannot be completed since the consumer is not part of an active group for auto partition assignment; it is likely that the consumer was kicked out of the group."
    return (
        Event(at, "WARN", java.COORDINATOR, poll, (), beat),
        Event(
            at + 0.001,
            "INFO",
            java.COORDINATOR,
            f"{log_prefix} Member {member} sending LeaveGroup request to coordinator {node} due to consumer poll timeout has expired.",
            (),
            beat,
        ),
        Event(
            at + 0.002,
            "INFO",
            java.COORDINATOR,
            f"{log_prefix} Resetting generation and member id due to: consumer pro-actively leaving the group",
            (),
            beat,
        ),
        Event(
            at + 31,
            "INFO",
            java.COORDINATOR,
            f"{log_prefix} Failing OffsetCommit request since the consumer is not part of an active group",
            (),
            loop,
        ),
        Event(
            at + 31.1,
            "WARN",
            f"net.example.{service.name.replace('-', '')}.PollLoop",
            "commit failed, records will be read again",
            (failed,),
            loop,
        ),
        Event(at + 31.2, "INFO", java.COORDINATOR, f"{log_prefix} (Re-)joining group", (), loop),
        Event(
            at + 33.9,
            "INFO",
            java.COORDINATOR,
            f"{log_prefix} Successfully joined group with generation Generation{{generationId={random.randint(40, 90)}, memberId='{member}', protocol='range'}}",
            (),
            loop,
        ),
    )


def _rebalance(
    cluster: SyntheticCluster,
    timeline: LogTimeline,
    random: Random,
    *,
    service: ConsumerService,
    at: float,
    generation: int,
) -> None:
    broker, partition = cluster.coordinator(service.group), offsets_partition(service.group)
    log_prefix, member = f"[GroupCoordinator {broker}]:", f"consumer-{service.group}-1-{uuid36(random)}"
    timeline.add(
        brokers.server_log(broker),
        Event(
            at + 0.01,
            "INFO",
            GROUPS,
            f"{log_prefix} Preparing to rebalance group {service.group} in state PreparingRebalance with old generation {generation} (__consumer_offsets-{partition}) (reason: Removing member {member} on LeaveGroup; client reason: consumer poll timeout has expired.)",
        ),
        Event(
            at + 0.02,
            "INFO",
            GROUPS,
            f"{log_prefix} Member MemberMetadata(memberId={member}, groupInstanceId=None, clientId=consumer-{service.group}-1, clientHost=/10.42.0.7, sessionTimeoutMs=45000, rebalanceTimeoutMs=300000, supportedProtocols=List(range, cooperative-sticky)) has left group {service.group} through explicit `LeaveGroup`; client reason: consumer poll timeout has expired.",
        ),
        Event(
            at + 34,
            "INFO",
            GROUPS,
            f"{log_prefix} Stabilized group {service.group} generation {generation + 1} (__consumer_offsets-{partition}) with {len(service.pods)} members",
        ),
    )


def static_fenced(cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, at: float, folder: Path) -> None:
    """A new pod takes the group.instance.id of one that still runs; the old one is fenced and ends."""
    del folder
    service, instance = java_services(cluster)[1], "reader-0"
    log_prefix, path = (
        f"[Consumer instanceId={instance}, clientId=consumer-{service.group}-1, groupId={service.group}]",
        service.files[0],
    )
    fenced = "org.apache.kafka.common.errors.FencedInstanceIdException: The broker rejected this static consumer since another consumer with the same group.instance.id has registered with a different member.id."
    beat = f"kafka-coordinator-heartbeat-thread | {service.group}"
    broker, member = cluster.coordinator(service.group), f"{instance}-{uuid36(random)}"
    timeline.add(
        path,
        Event(
            at,
            "ERROR",
            "org.apache.kafka.clients.consumer.internals.AbstractCoordinator",
            f"{log_prefix} Caught fenced group.instance.id Optional[{instance}] error in heartbeat thread",
            (fenced,),
            beat,
        ),
        Event(
            at + 0.4,
            "ERROR",
            f"net.example.{service.name.replace('-', '')}.PollLoop",
            "poll loop ended by an exception, closing the consumer",
            (fenced,),
            f"{service.name}-poll-0",
        ),
        *java.close_consumer(service, at=at + 0.5),
    )
    timeline.be_idle(path, at, cluster.end)
    timeline.add(
        brokers.server_log(broker),
        Event(
            at - 1,
            "INFO",
            GROUPS,
            f"[GroupCoordinator {broker}]: Static member with groupInstanceId={instance} and unknown member id joins group {service.group} in Stable state. Replacing previously mapped member {member} with this groupInstanceId.",
        ),
    )


def offsets_out_of_range(
    cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, at: float, folder: Path
) -> None:
    """Groups come back after longer than retention: one resets its offsets, one has no reset policy and ends."""
    del folder
    resets, ends = java_services(cluster)[:2]
    for service, tail in (
        (resets, "resetting offset"),
        (ends, "raising error to the application since no reset policy is configured"),
    ):
        for path in service.files:
            for number in range(3):
                timeline.add(
                    path,
                    *_out_of_range(cluster, random, service=service, number=number, tail=tail, at=at + number * 0.1),
                )
    for path in ends.files:
        trace = f"org.apache.kafka.clients.consumer.OffsetOutOfRangeException: Offsets out of range with no configured reset policy for partitions: {{{ends.topic}-0=4411902}}"
        timeline.add(
            path,
            Event(
                at + 0.5,
                "ERROR",
                f"net.example.{ends.name.replace('-', '')}.PollLoop",
                "poll loop ended by an exception, closing the consumer",
                (trace,),
                f"{ends.name}-poll-0",
            ),
        )
        timeline.add(path, *java.close_consumer(ends, at=at + 0.6))
        timeline.be_idle(path, at, cluster.end)


def _out_of_range(
    cluster: SyntheticCluster, random: Random, *, service: ConsumerService, number: int, tail: str, at: float
) -> Iterable[Event]:
    leader = cluster.topic(service.topic).partitions[number][0]
    epoch = random.randint(4, 40)
    node = f"LeaderAndEpoch{{leader=Optional[{cluster.host(leader)}:9092 (id: {leader} rack: null)], epoch={epoch}}}"
    position = f"FetchPosition{{offset=4411902, offsetEpoch=Optional[{epoch}], currentLeader={node}}}"
    text = f"{java.prefix(service)} Fetch position {position} is out of range for partition {service.topic}-{number}, {tail}"
    yield Event(
        at, "INFO", "org.apache.kafka.clients.consumer.internals.FetchCollector", text, (), f"{service.name}-poll-0"
    )
    if tail == "resetting offset":
        again = position.replace("offset=4411902", "offset=5120033").replace(f"Optional[{epoch}]", "Optional.empty")
        text = f"{java.prefix(service)} Resetting offset for partition {service.topic}-{number} to position {again}."
        yield Event(
            at + 0.2,
            "INFO",
            "org.apache.kafka.clients.consumer.internals.SubscriptionState",
            text,
            (),
            f"{service.name}-poll-0",
        )


def slow_consumer(cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, at: float, folder: Path) -> None:
    """The database behind a service became slow: its lag grows while its group is stable and the cluster well."""
    service = java_services(cluster)[0]
    for path in service.files:
        for turn in range(60):
            text = f"batch of {random.randint(90, 500)} records took {random.randint(21000, 48000)} ms, of which {random.randint(20000, 21000)} ms in the database"
            timeline.add(
                path,
                Event(
                    at + turn * 45 + random.uniform(0, 20),
                    "WARN",
                    f"net.example.{service.name.replace('-', '')}.RecordHandler",
                    text,
                    (),
                    f"{service.name}-poll-0",
                ),
            )
    for after in (600, 1800, 3000):
        snapshots.write_groups(folder, cluster, random, at=at + after, slow=(service.group,), lagging=after)
    snapshots.write_topics(folder, cluster, at=at + 3000, view=snapshots.all_well)
