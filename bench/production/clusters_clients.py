"""What Java consumers write when their group's coordinator is away: those that die of it and those that heal."""

# ruff: noqa: E501 - a line of a log stays one line here
from __future__ import annotations

from typing import TYPE_CHECKING

from bench.production.clusters_timeline import Event, LogTimeline
from bench.production.clusters_world import MAX_COORDINATORS, offsets_partition, uuid36

if TYPE_CHECKING:
    from random import Random

    from bench.production.clusters_brokers import Outage
    from bench.production.clusters_world import ConsumerService, SyntheticCluster

COORDINATOR = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
NETWORK = "org.apache.kafka.clients.NetworkClient"


def prefix(service: ConsumerService, number: int = 1) -> str:
    return f"[Consumer clientId=consumer-{service.group}-{number}, groupId={service.group}]"


def node_text(cluster: SyntheticCluster, broker: int) -> str:
    return f"{cluster.host(broker)}:9092 (id: {MAX_COORDINATORS - broker} rack: null)"


def offsets_text(service: ConsumerService, random: Random, *, at: float) -> str:
    pairs = (
        f"{service.topic}-{number}=OffsetAndMetadata{{offset={int(at * 7) % 90_000_000 + number}, "
        f"leaderEpoch={random.randint(5, 40)}, metadata=''}}"
        for number in sorted(random.sample(range(4), 2))
    )
    return "{" + ", ".join(pairs) + "}"


def lose_coordinator(
    cluster: SyntheticCluster,
    random: Random,
    *,
    service: ConsumerService,
    outage: Outage,
    until: float,
    timeout_ms: int = 30000,
) -> list[Event]:
    """Requests to the coordinator time out, connections to it are not set up, and metadata still names it."""
    thread, log_prefix, node = f"{service.name}-poll-0", prefix(service), MAX_COORDINATORS - outage.broker
    at, rows = outage.start + timeout_ms / 1000 + random.uniform(0.05, 0.9), []
    wait = int(timeout_ms + random.randint(1, 40))
    rows.append(
        Event(at, "INFO", NETWORK, f"{log_prefix} Disconnecting from node {node} due to request timeout.", (), thread)
    )
    rows.append(
        Event(
            at + 0.001,
            "INFO",
            NETWORK,
            f"{log_prefix} Cancelled in-flight OFFSET_COMMIT request with correlation id {random.randint(900, 90000)} due to node {node} being disconnected (elapsed time since creation: {wait}ms, elapsed time since send: {wait}ms, throttle time: 0ms, request timeout: {timeout_ms}ms)",
            (),
            thread,
        )
    )
    rows.append(_unavailable(cluster, log_prefix, thread, broker=outage.broker, at=at + 0.002))
    at += random.uniform(0.1, 0.3)
    while at + 10 < until:
        rows.append(_discovered(cluster, log_prefix, thread, broker=outage.broker, at=at))
        at += random.uniform(9.1, 11.8)
        text = f"{log_prefix} Disconnecting from node {node} due to socket connection setup timeout. The timeout value is {random.randint(8100, 11900)} ms."
        rows.append(Event(at, "INFO", NETWORK, text, (), thread))
        rows.append(_unavailable(cluster, log_prefix, thread, broker=outage.broker, at=at + 0.001))
        at += random.uniform(0.1, 0.4)
    return rows


def _unavailable(cluster: SyntheticCluster, log_prefix: str, thread: str, *, broker: int, at: float) -> Event:
    text = f"{log_prefix} Group coordinator {node_text(cluster, broker)} is unavailable or invalid due to cause: coordinator unavailable. isDisconnected: true. Rediscovery will be attempted."
    return Event(at, "INFO", COORDINATOR, text, (), thread)


def _discovered(cluster: SyntheticCluster, log_prefix: str, thread: str, *, broker: int, at: float) -> Event:
    return Event(
        at, "INFO", COORDINATOR, f"{log_prefix} Discovered group coordinator {node_text(cluster, broker)}", (), thread
    )


def die_of_commit(
    cluster: SyntheticCluster,
    timeline: LogTimeline,
    random: Random,
    *,
    service: ConsumerService,
    pod: int,
    outage: Outage,
    wait_ms: int = 60000,
) -> None:
    """commitSync gives up, nobody catches it, the poll loop ends, and the pod lives on without a consumer."""
    path, thread = service.files[pod], f"{service.name}-poll-0"
    died = outage.start + random.uniform(0.5, 6) + wait_ms / 1000
    request_ms = min(30000, wait_ms)
    timeline.add(
        path, *lose_coordinator(cluster, random, service=service, outage=outage, until=died, timeout_ms=request_ms)
    )
    text = f"Timeout of {wait_ms}ms expired before successfully committing offsets {offsets_text(service, random, at=died)}"
    trace = (f"org.apache.kafka.common.errors.TimeoutException: {text}",)
    timeline.add(
        path,
        Event(
            died,
            "ERROR",
            f"net.example.{service.name.replace('-', '')}.PollLoop",
            "poll loop ended by an exception, closing the consumer",
            trace,
            thread,
        ),
        *close_consumer(service, at=died + 0.01),
    )
    timeline.be_idle(path, outage.start, cluster.end)


def close_consumer(service: ConsumerService, *, at: float) -> tuple[Event, ...]:
    thread, log_prefix = f"{service.name}-poll-0", prefix(service)
    metrics = "org.apache.kafka.common.metrics.Metrics"
    return (
        Event(
            at,
            "INFO",
            COORDINATOR,
            f"{log_prefix} Resetting generation and member id due to: consumer pro-actively leaving the group",
            (),
            thread,
        ),
        Event(
            at + 0.001,
            "INFO",
            COORDINATOR,
            f"{log_prefix} Request joining group due to: consumer pro-actively leaving the group",
            (),
            thread,
        ),
        Event(at + 0.01, "INFO", metrics, "Metrics scheduler closed", (), thread),
        Event(at + 0.011, "INFO", metrics, "Metrics reporters closed", (), thread),
        Event(
            at + 0.02,
            "INFO",
            "org.apache.kafka.common.utils.AppInfoParser",
            f"App info kafka.consumer for consumer-{service.group}-1 unregistered",
            (),
            thread,
        ),
    )


def heal(
    cluster: SyntheticCluster,
    timeline: LogTimeline,
    random: Random,
    *,
    service: ConsumerService,
    pod: int,
    outage: Outage,
    well: float,
) -> None:
    """Auto-commit fails and is retried; once the coordinator is there the consumer joins its group again."""
    path, thread, log_prefix = service.files[pod], f"{service.name}-poll-0", prefix(service)
    timeline.add(path, *lose_coordinator(cluster, random, service=service, outage=outage, until=well))
    at = outage.start + 30.4 + random.random()
    if well > at:
        text = f"{log_prefix} Asynchronous auto-commit of offsets {offsets_text(service, random, at=at)} failed: Offset commit failed with a retriable exception. You should retry committing the latest consumed offsets."
        timeline.add(path, Event(at, "WARN", COORDINATOR, text, (), thread))
    timeline.add(
        path,
        *join_again(
            cluster,
            random,
            service=service,
            at=well + random.uniform(0.3, 3),
            broker=next_coordinator(cluster, service, outage),
        ),
    )
    timeline.be_idle(path, outage.start, well + 4)


def next_coordinator(cluster: SyntheticCluster, service: ConsumerService, outage: Outage) -> int:
    """The coordinator that a client finds once there is one: the old one where the group never moved."""
    moved = outage.fenced is not None and not outage.orphaned
    return new_leader(cluster, service) if moved else outage.broker


def new_leader(cluster: SyntheticCluster, service: ConsumerService) -> int:
    """Who coordinates the group when its first replica is away."""
    return cluster.topics[-1].partitions[offsets_partition(service.group)][1]


def join_again(
    cluster: SyntheticCluster, random: Random, *, service: ConsumerService, at: float, broker: int
) -> tuple[Event, ...]:
    thread, log_prefix, generation = f"{service.name}-poll-0", prefix(service), random.randint(4, 90)
    member = f"consumer-{service.group}-1-{uuid36(random)}"
    old = f"Generation{{generationId={generation}, memberId='{member}', protocol='range'}}"
    new = f"Generation{{generationId={generation + 2}, memberId='consumer-{service.group}-1-{uuid36(random)}', protocol='range'}}"
    rows = (
        (0.0, f"Discovered group coordinator {node_text(cluster, broker)}"),
        (
            0.3,
            f"Attempt to heartbeat with {old} and group instance id Optional.empty failed due to UNKNOWN_MEMBER_ID, resetting generation",
        ),
        (0.31, "Resetting generation and member id due to: encountered UNKNOWN_MEMBER_ID from HEARTBEAT response"),
        (0.32, "Request joining group due to: encountered UNKNOWN_MEMBER_ID from HEARTBEAT response"),
        (
            0.33,
            "Giving away all assigned partitions as lost since generation/memberID has been reset,indicating that consumer is in old state or no longer part of the group",
        ),
        (0.4, "(Re-)joining group"),
        (3.5, f"Successfully joined group with generation {new}"),
        (3.6, f"Successfully synced group in generation {new}"),
    )
    return tuple(Event(at + after, "INFO", COORDINATOR, f"{log_prefix} {text}", (), thread) for after, text in rows)


def time_out_later(
    cluster: SyntheticCluster,
    timeline: LogTimeline,
    random: Random,
    *,
    service: ConsumerService,
    pod: int,
    outage: Outage,
    well: float,
) -> None:
    """default.api.timeout.ms=600000: the commit waits, and is done once the coordinator answers."""
    path, thread = service.files[pod], f"{service.name}-poll-0"
    timeline.add(path, *lose_coordinator(cluster, random, service=service, outage=outage, until=well))
    at = well + random.uniform(0.2, 2)
    timeline.add(
        path,
        _discovered(cluster, prefix(service), thread, broker=next_coordinator(cluster, service, outage), at=at),
        Event(
            at + 0.2,
            "INFO",
            f"net.example.{service.name.replace('-', '')}.PollLoop",
            f"committed offsets after {at - outage.start:.1f} s",
            (),
            thread,
        ),
    )
    timeline.be_idle(path, outage.start, at)


def retry_commits(
    cluster: SyntheticCluster,
    timeline: LogTimeline,
    random: Random,
    *,
    service: ConsumerService,
    pod: int,
    outage: Outage,
    well: float,
    wait_ms: int,
) -> None:
    """The program catches the timeout of its commit and tries again with the next batch."""
    path, thread = service.files[pod], f"{service.name}-poll-0"
    at = outage.start + random.uniform(1, 4)
    timeline.be_idle(path, outage.start, well)
    timeline.add(
        path, *lose_coordinator(cluster, random, service=service, outage=outage, until=well, timeout_ms=wait_ms)
    )
    while at + wait_ms / 1000 < well:
        at += wait_ms / 1000 + random.uniform(0.4, 2)
        text = f"Timeout of {wait_ms}ms expired before successfully committing offsets {offsets_text(service, random, at=at)}"
        timeline.add(
            path,
            Event(
                at,
                "WARN",
                f"net.example.{service.name.replace('-', '')}.PollLoop",
                f"commit failed, will try again: org.apache.kafka.common.errors.TimeoutException: {text}",
                (),
                thread,
            ),
        )
    timeline.add(
        path,
        *join_again(cluster, random, service=service, at=well + 1, broker=next_coordinator(cluster, service, outage)),
    )
