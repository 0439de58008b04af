"""What Kafka Streams and clients that are not Java write when a broker that they need is away."""

# ruff: noqa: E501 - a line of a log stays one line here
from __future__ import annotations

from typing import TYPE_CHECKING

from bench.production.clusters_clients import COORDINATOR, NETWORK, next_coordinator, node_text, offsets_text
from bench.production.clusters_timeline import Event, LogTimeline
from bench.production.clusters_world import MAX_COORDINATORS, uuid36

if TYPE_CHECKING:
    from random import Random

    from bench.production.clusters_brokers import Outage
    from bench.production.clusters_world import ConsumerService, SyntheticCluster

THREAD = "org.apache.kafka.streams.processor.internals.StreamThread"
STREAMS = "org.apache.kafka.streams.KafkaStreams"


def stream_threads_die(
    cluster: SyntheticCluster,
    timeline: LogTimeline,
    random: Random,
    *,
    service: ConsumerService,
    pod: int,
    outage: Outage,
) -> None:
    """Kafka Streams before 2.8 has no task.timeout.ms: every thread whose commit times out is dead for good."""
    path, process = service.files[pod], uuid36(random)
    for number in (1, 2):
        died = outage.start + random.uniform(1, 9) + 60
        thread = f"{service.group}-{process}-StreamThread-{number}"
        timeline.add(path, *_coordinator_gone(cluster, random, service=service, thread=thread, outage=outage))
        timeline.add(path, *_thread_death(service, random, thread=thread, at=died))
    client = f"stream-client [{service.group}-{process}]"
    timeline.add(
        path,
        Event(outage.start + 71, "INFO", STREAMS, f"{client} State transition from RUNNING to ERROR"),
        Event(
            outage.start + 71.01,
            "ERROR",
            STREAMS,
            f"{client} All stream threads have died. The instance will be in error state and should be closed.",
        ),
    )
    timeline.be_idle(path, outage.start, cluster.end)


def _coordinator_gone(
    cluster: SyntheticCluster, random: Random, *, service: ConsumerService, thread: str, outage: Outage
) -> tuple[Event, ...]:
    log_prefix = f"[Consumer clientId={thread}-consumer, groupId={service.group}]"
    at = outage.start + 30 + random.random()
    text = f"{log_prefix} Group coordinator {node_text(cluster, outage.broker)} is unavailable or invalid, will attempt rediscovery"
    return (
        Event(at, "INFO", "org.apache.kafka.clients.consumer.internals.AbstractCoordinator", text, (), thread),
        Event(
            at + 0.2,
            "INFO",
            "org.apache.kafka.clients.consumer.internals.AbstractCoordinator",
            f"{log_prefix} Discovered group coordinator {node_text(cluster, outage.broker)}",
            (),
            thread,
        ),
    )


def _thread_death(service: ConsumerService, random: Random, *, thread: str, at: float) -> tuple[Event, ...]:
    log_prefix, task = f"stream-thread [{thread}]", f"0_{random.randint(0, 3)}"
    text = f"Timeout of 60000ms expired before successfully committing offsets {offsets_text(service, random, at=at)}"
    trace = (f"org.apache.kafka.common.errors.TimeoutException: {text}",)
    return (
        Event(
            at,
            "ERROR",
            "org.apache.kafka.streams.processor.internals.AssignedStreamsTasks",
            f"{log_prefix} Failed to commit stream task {task} due to the following error:",
            trace,
            thread,
        ),
        Event(
            at + 0.001,
            "ERROR",
            THREAD,
            f"{log_prefix} Encountered the following unexpected Kafka exception during processing, this usually indicate Streams internal errors:",
            trace,
            thread,
        ),
        Event(
            at + 0.002, "INFO", THREAD, f"{log_prefix} State transition from RUNNING to PENDING_SHUTDOWN", (), thread
        ),
        Event(at + 0.003, "INFO", THREAD, f"{log_prefix} Shutting down", (), thread),
        Event(at + 1.2, "INFO", THREAD, f"{log_prefix} State transition from PENDING_SHUTDOWN to DEAD", (), thread),
        Event(at + 1.201, "INFO", THREAD, f"{log_prefix} Shutdown complete", (), thread),
    )


def stream_threads_heal(
    cluster: SyntheticCluster,
    timeline: LogTimeline,
    random: Random,
    *,
    service: ConsumerService,
    pod: int,
    outage: Outage,
    well: float,
) -> None:
    """From 2.8 on a commit that times out is tried again for task.timeout.ms (300 s)."""
    path, process = service.files[pod], uuid36(random)
    thread = f"{service.group}-{process}-StreamThread-1"
    log_prefix, at = f"stream-thread [{thread}]", outage.start + 61 + random.random()
    if at < well:
        text = (
            f"Timeout of 60000ms expired before successfully committing offsets {offsets_text(service, random, at=at)}"
        )
        trace = (f"org.apache.kafka.common.errors.TimeoutException: {text}",)
        executor = "org.apache.kafka.streams.processor.internals.TaskExecutor"
        timeline.add(
            path, Event(at, "ERROR", executor, f"{log_prefix} Committing task(s) 0_1, 0_3 failed.", trace, thread)
        )
    consumer = f"[Consumer clientId={thread}-consumer, groupId={service.group}]"
    timeline.add(
        path,
        Event(
            outage.start + 30.2,
            "INFO",
            NETWORK,
            f"{consumer} Disconnecting from node {MAX_COORDINATORS - outage.broker} due to request timeout.",
            (),
            thread,
        ),
        Event(
            well + 1,
            "INFO",
            COORDINATOR,
            f"{consumer} Discovered group coordinator {node_text(cluster, next_coordinator(cluster, service, outage))}",
            (),
            thread,
        ),
        Event(
            well + 125,
            "INFO",
            THREAD,
            f"{log_prefix} Processed {random.randint(900, 90000)} total records, ran 0 punctuators, and committed {random.randint(9, 90)} total tasks since the last update",
            (),
            thread,
        ),
    )
    timeline.be_idle(path, outage.start, well + 1)


def lose_fetches(timeline: LogTimeline, random: Random, *, service: ConsumerService, pod: int, outage: Outage) -> None:
    """A Java consumer whose coordinator is well still misses the partitions that the broker led."""
    session = f"(sessionId={random.getrandbits(30)}, epoch={random.randint(100, 9000)})"
    thread, log_prefix = (
        f"{service.name}-poll-0",
        f"[Consumer clientId=consumer-{service.group}-1, groupId={service.group}]",
    )
    at = outage.start + 30 + random.random()
    handler = "org.apache.kafka.clients.FetchSessionHandler"
    timeline.add(
        service.files[pod],
        Event(
            at,
            "INFO",
            NETWORK,
            f"{log_prefix} Disconnecting from node {outage.broker} due to request timeout.",
            (),
            thread,
        ),
        Event(
            at + 0.001,
            "INFO",
            NETWORK,
            f"{log_prefix} Cancelled in-flight FETCH request with correlation id {random.randint(900, 90000)} due to node {outage.broker} being disconnected (elapsed time since creation: 30021ms, elapsed time since send: 30021ms, throttle time: 0ms, request timeout: 30000ms)",
            (),
            thread,
        ),
        Event(
            at + 0.002,
            "INFO",
            handler,
            f"{log_prefix} Error sending fetch request {session} to node {outage.broker}:",
            ("org.apache.kafka.common.errors.DisconnectException",),
            thread,
        ),
    )


def librdkafka_waits(
    cluster: SyntheticCluster,
    timeline: LogTimeline,
    random: Random,
    *,
    service: ConsumerService,
    pod: int,
    outage: Outage,
    well: float,
) -> None:
    """librdkafka has no bound on a commit: it asks for the coordinator until there is one."""
    path, broker = service.files[pod], f"{cluster.host(outage.broker)}:9092/{outage.broker}"
    at, rows = outage.start + 60 + random.random(), []
    while at < well:
        rows.append(
            (
                at,
                5,
                "REQTMOUT",
                f"[thrd:GroupCoordinator]: GroupCoordinator/{outage.broker}: Timed out OffsetCommitRequest in flight (after {random.randint(60001, 60900)}ms, timeout #0)",
            )
        )
        rows.append(
            (
                at + 0.001,
                4,
                "REQTMOUT",
                f"[thrd:GroupCoordinator]: GroupCoordinator/{outage.broker}: Timed out 1 in-flight, 0 retry-queued, 0 out-queue, 0 partially-sent requests",
            )
        )
        rows.append(
            (
                at + 0.002,
                3,
                "FAIL",
                f"[thrd:{broker}]: {broker}: 1 request(s) timed out: disconnect (average rtt {random.uniform(1, 9):.3f}ms) (after {random.randint(600000, 9000000)}ms in state UP)",
            )
        )
        at += random.uniform(60, 63)
    rows.append(
        (
            outage.start + 45.3,
            4,
            "SESSTMOUT",
            f"[thrd:main]: Consumer group session timed out (in join-state steady) after {random.randint(45001, 45900)} ms without a successful response from the group coordinator (broker {outage.broker}, last error was Success): revoking assignment and rejoining group",
        )
    )
    for when, level, kind, text in rows:
        line = f"%{level}|{when:.3f}|{kind}|{service.name}#consumer-1| {text}"
        timeline.add(path, Event(when, "WARN", "librdkafka", line))
    timeline.be_idle(path, outage.start, well + 3)


def python_heals(
    cluster: SyntheticCluster,
    timeline: LogTimeline,
    random: Random,
    *,
    service: ConsumerService,
    pod: int,
    outage: Outage,
    well: float,
) -> None:
    path, at = service.files[pod], outage.start + 40 + random.random()
    host = f"{cluster.host(outage.broker)}:9092"
    if service.client == "aiokafka":
        rows = [
            (
                at,
                "ERROR",
                "aiokafka.consumer.group_coordinator",
                f"OffsetCommit failed for group {service.group} due to group error ([Error 15] GroupCoordinatorNotAvailableError), will rejoin",
            )
        ]
        rows.append(
            (
                well + 1,
                "INFO",
                "aiokafka.consumer.group_coordinator",
                f"Discovered coordinator {next_coordinator(cluster, service, outage)} for group {service.group}",
            )
        )
    else:
        rows = [
            (
                at,
                "WARN",
                "kafka.conn",
                f"<BrokerConnection node_id=coordinator-{outage.broker} host={host} <connected> [IPv4 ('10.20.0.{outage.broker}', 9092)]> timed out after 40000 ms. Closing connection.",
            )
        ]
        rows.append(
            (
                at + 0.01,
                "WARN",
                "kafka.coordinator",
                f"Marking the coordinator dead (node coordinator-{outage.broker}) for group {service.group}: KafkaConnectionError: Closing Kafka connection.",
            )
        )
        rows.append(
            (
                well + 1,
                "INFO",
                "kafka.coordinator",
                f"Discovered coordinator coordinator-{next_coordinator(cluster, service, outage)} for group {service.group}",
            )
        )
    timeline.add(path, *(Event(when, level, logger, text) for when, level, logger, text in rows))
    timeline.be_idle(path, outage.start, well + 2)
