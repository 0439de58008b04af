"""Faults of single brokers: their disk, memory, certificate or followers, while leaders are there or move at once."""

# ruff: noqa: E501 - a line of a log stays one line here
from __future__ import annotations

from typing import TYPE_CHECKING

from bench.production import clusters_brokers as brokers
from bench.production import clusters_clients as java
from bench.production import clusters_snapshots as snapshots
from bench.production.clusters_brokers import Outage
from bench.production.clusters_faults import java_services
from bench.production.clusters_incident import LOST, log_clients
from bench.production.clusters_timeline import Event, LogTimeline, clock
from bench.production.clusters_world import MAX_COORDINATORS, SyntheticCluster, Topic

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random


def under_min_isr(cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, at: float, folder: Path) -> None:
    """Both followers of two partitions are behind; the leader is there and refuses records with acks=all."""
    topic = cluster.topics[1]
    for number in (0, 1):
        replicas = topic.partitions[number]
        for out in replicas[1:]:
            brokers.shrink(timeline, random, where=(topic.name, number), replicas=replicas, out=out, at=at + out)
        for turn in range(40):
            timeline.add(
                brokers.server_log(replicas[0]),
                _refused(replicas[0], f"{topic.name}-{number}", at=at + 30 + turn * 20 + random.random()),
            )
    for path in java_services(cluster)[2].files:
        for turn in range(30):
            text = f"[Producer clientId=producer-1] Got error produce response with correlation id {random.randint(90, 90000)} on topic-partition {topic.name}-{turn % 2}, retrying ({2147483640 - turn} attempts left). Error: NOT_ENOUGH_REPLICAS"
            timeline.add(
                path,
                Event(
                    at + 30 + turn * 26,
                    "WARN",
                    "org.apache.kafka.clients.producer.internals.Sender",
                    text,
                    (),
                    "kafka-producer-network-thread | producer-1",
                ),
            )

    def view(where: Topic, number: int, replicas: tuple[int, ...]) -> tuple[int | None, tuple[int, ...]]:
        return replicas[0], replicas[:1] if where.name == topic.name and number in (0, 1) else replicas

    snapshots.write_topics(folder, cluster, at=at + 600, view=view)


def _refused(broker: int, name: str, *, at: float) -> Event:
    trace = f"org.apache.kafka.common.errors.NotEnoughReplicasException: The size of the current ISR Set({broker}) is insufficient to satisfy the min.isr requirement of 2 for partition {name}"
    return Event(
        at,
        "ERROR",
        "kafka.server.ReplicaManager",
        f"[ReplicaManager broker={broker}] Error processing append operation on partition {name}",
        (trace,),
    )


def disk_full(cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, at: float, folder: Path) -> None:
    """The only log directory of a broker is full; it stops. A partition that had no other in-sync replica is offline."""
    topic, number, _ = next(row for row in cluster.led_by(LOST) if row[0].name != "__consumer_offsets")
    name, where = f"{topic.name}-{number}", "/var/lib/kafka/data"
    full = (
        "java.io.IOException: No space left on device",
        "\tat java.base/sun.nio.ch.FileDispatcherImpl.write0(Native Method)",
        "\tat org.apache.kafka.common.record.FileRecords.append(FileRecords.java:197)",
    )
    timeline.add(
        brokers.server_log(LOST),
        Event(
            at,
            "ERROR",
            "org.apache.kafka.storage.internals.log.LogDirFailureChannel",
            f"Error while appending records to {name} in dir {where}",
            full,
        ),
        Event(
            at + 0.01,
            "ERROR",
            "kafka.server.ReplicaManager",
            f"[ReplicaManager broker={LOST}] Error processing append operation on partition {name}",
            (
                f"org.apache.kafka.common.errors.KafkaStorageException: Error while appending records to {name} in dir {where}",
                "Caused by: " + full[0],
            ),
        ),
        Event(
            at + 0.02,
            "WARN",
            "kafka.server.ReplicaManager",
            f"[ReplicaManager broker={LOST}] Stopping serving replicas in dir {where} with uuid Some(RkXr2bTQ0yWn4mVd7HsPgA) because the log directory has failed.",
        ),
        Event(at + 0.4, "WARN", "kafka.log.LogManager", f"Stopping serving logs in dir {where}"),
        Event(
            at + 0.5, "FATAL", "kafka.log.LogManager", f"Shutdown broker because all log dirs in {where} have failed"
        ),
    )
    outage = Outage(broker=LOST, start=at, back=cluster.end, fenced=at + 9.2)
    timeline.be_quiet(brokers.server_log(LOST), at, cluster.end)
    brokers.log_fence(cluster, timeline, outage=outage)
    brokers.move_leaders(cluster, timeline, random, broker=LOST, at=at + 9.3, offline=(topic.name, number))
    log_clients(cluster, timeline, random, outage=outage, deaths=False)
    usual = snapshots.without(LOST)

    def view(each: Topic, part: int, replicas: tuple[int, ...]) -> tuple[int | None, tuple[int, ...]]:
        return (None, (LOST,)) if (each.name, part) == (topic.name, number) else usual(each, part, replicas)

    snapshots.write_topics(folder, cluster, at=at + 900, view=view)
    snapshots.write_groups(folder, cluster, random, at=at + 900)


def _crash(cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, at: float) -> Outage:
    """The process is gone at once, its sockets are reset, and it serves again 70 s later."""
    outage = Outage(broker=LOST, start=at, back=at + 70, fenced=at + 9.1)
    timeline.be_quiet(brokers.server_log(LOST), at, outage.back)
    brokers.log_fence(cluster, timeline, outage=outage)
    brokers.move_leaders(cluster, timeline, random, broker=LOST, at=at + 9.2)
    brokers.log_start(cluster, timeline, random, broker=LOST, at=outage.back, unclean=True)
    brokers.return_leaders(cluster, timeline, random, broker=LOST, at=outage.back + 240)
    for service in java_services(cluster):
        node = MAX_COORDINATORS - LOST if cluster.coordinator(service.group) == LOST else LOST
        for path in service.files:
            log_prefix = java.prefix(service)
            timeline.add(
                path,
                Event(
                    at + 0.2,
                    "INFO",
                    java.NETWORK,
                    f"{log_prefix} Node {node} disconnected.",
                    (),
                    f"{service.name}-poll-0",
                ),
            )
            if node != LOST:
                timeline.add(
                    path,
                    *java.join_again(
                        cluster, random, service=service, at=at + 10.5, broker=java.new_leader(cluster, service)
                    ),
                )
    return outage


def oom_killed(cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, at: float, folder: Path) -> None:
    """The kernel kills the broker for memory, systemd starts it again."""
    outage = _crash(cluster, timeline, random, at=at)
    rows = (
        (
            at - 0.3,
            "kernel: java invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0",
        ),
        (
            at - 0.2,
            "kernel: oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/system.slice/kafka.service,task=java,pid=2213,uid=998",
        ),
        (
            at - 0.1,
            "kernel: Out of memory: Killed process 2213 (java) total-vm:41922104kB, anon-rss:30911220kB, file-rss:0kB, shmem-rss:0kB, UID:998 pgtables:66120kB oom_score_adj:0",
        ),
        (at, "systemd[1]: kafka.service: A process of this unit has been killed by the OOM killer."),
        (at + 0.1, "systemd[1]: kafka.service: Main process exited, code=killed, status=9/KILL"),
        (at + 0.2, "systemd[1]: kafka.service: Failed with result 'oom-kill'."),
        (at + 10.3, "systemd[1]: kafka.service: Scheduled restart job, restart counter is at 1."),
        (at + 10.4, "systemd[1]: Started kafka.service - Apache Kafka."),
    )
    lines = [f"{clock(when, comma='.', middle='T')}+00:00 kafka-{LOST} {text}\n" for when, text in rows]
    snapshots.write(folder / f"hosts/kafka-{LOST}/kern.log", lines)
    snapshots.write_groups(folder, cluster, random, at=outage.back + 900)


def out_of_memory_error(
    cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, at: float, folder: Path
) -> None:
    """The broker's heap is full; it exits and is started again. What filled the heap is not known."""
    heap = "java.lang.OutOfMemoryError: Java heap space"
    timeline.add(
        brokers.server_log(LOST),
        Event(
            at - 31,
            "ERROR",
            "kafka.server.KafkaApis",
            f"[KafkaApi-{LOST}] Unexpected error handling request RequestHeader(apiKey=FETCH, apiVersion=16, clientId=broker-2-fetcher-0, correlationId=901233, headerVersion=2)",
            (heap,),
        ),
        Event(
            at - 9,
            "ERROR",
            "org.apache.kafka.server.util.KafkaScheduler",
            "Uncaught exception in scheduled task 'highwatermark-checkpoint'",
            (
                heap,
                "\tat java.base/java.util.HashMap.resize(HashMap.java:702)",
                "\tat java.base/java.util.HashMap.putVal(HashMap.java:661)",
            ),
        ),
    )
    snapshots.write(folder / f"brokers/kafka-{LOST}/kafkaServer.out", (f"Terminating due to {heap}\n",))
    outage = _crash(cluster, timeline, random, at=at)
    snapshots.write_groups(folder, cluster, random, at=outage.back + 900)


def certificate_expired(
    cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, at: float, folder: Path
) -> None:
    """The certificate of the inter-broker listener ran out on one broker; its followers fall out of sync."""
    expired = (
        "org.apache.kafka.common.errors.SslAuthenticationException: SSL handshake failed",
        "Caused by: javax.net.ssl.SSLHandshakeException: PKIX path validation failed: java.security.cert.CertPathValidatorException: validity check failed",
        "Caused by: java.security.cert.CertificateExpiredException: NotAfter: Fri Nov 20 09:45:00 UTC 2026",
    )
    for topic, number, replicas in cluster.led_by(LOST):
        for out in replicas[1:]:
            brokers.shrink(
                timeline,
                random,
                where=(topic.name, number),
                replicas=replicas,
                out=out,
                at=at + 30 + random.uniform(0, 9),
            )
    for follower in sorted({r for _, _, replicas in cluster.led_by(LOST) for r in replicas[1:]}):
        for turn in range(25):
            log_prefix = f"[ReplicaFetcher replicaId={follower}, leaderId={LOST}, fetcherId=0]"
            text = f"{log_prefix} Connection to node {LOST} ({cluster.host(LOST)}/10.20.0.{LOST}:9093) failed authentication due to: SSL handshake failed"
            when = at + turn * 60 + random.random()
            timeline.add(brokers.server_log(follower), Event(when, "ERROR", java.NETWORK, text))
            timeline.add(
                brokers.server_log(follower),
                Event(
                    when + 0.001,
                    "WARN",
                    "kafka.server.ReplicaFetcherThread",
                    f"{log_prefix} Error in response for fetch request (type=FetchRequest, replicaId={follower}, maxWait=500, minBytes=1, maxBytes=10485760, fetchData={{}}, isolationLevel=READ_UNCOMMITTED, removed=, replaced=, metadata=(sessionId=INVALID, epoch=INITIAL), rackId=)",
                    expired,
                ),
            )

    def view(topic: Topic, number: int, replicas: tuple[int, ...]) -> tuple[int | None, tuple[int, ...]]:
        del topic, number
        return replicas[0], replicas[:1] if replicas[0] == LOST else replicas

    snapshots.write_topics(folder, cluster, at=at + 900, view=view)
    snapshots.write_groups(folder, cluster, random, at=at + 900)
