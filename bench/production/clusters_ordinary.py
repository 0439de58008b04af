"""The lines of ordinary life in the logs of brokers, controllers and the programs that read topics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bench.production.clusters_timeline import Event, LogFile, LogTimeline, write_log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from random import Random

    from bench.production.clusters_world import ConsumerService, SyntheticCluster

LINE_BYTES = 175  # a line of these logs, on average


def ordinary(
    make: Callable[[float], Event | None], random: Random, *, cluster: SyntheticCluster, budget: float
) -> Iterator[Event]:
    """About `budget` bytes of lines, spread over the whole time."""
    gap = cluster.seconds * LINE_BYTES / max(budget, LINE_BYTES)
    at = cluster.start + random.random() * gap
    while at < cluster.end:
        event = make(at)
        if event is not None:
            yield event
        at += random.expovariate(1 / gap) + 0.001


@dataclass(frozen=True, slots=True)
class PartitionLog:
    """A partition in the log of a broker."""

    where: str
    offset: int
    broker: int


def server_line(at: float, random: Random, *, cluster: SyntheticCluster, broker: int) -> Event:
    topic = random.choice(cluster.topics[:-1])
    where = f"partition={topic.name}-{random.randrange(len(topic.partitions))}"
    offset = int(at * 31) % 900_000_000 + random.randrange(4000)
    event = random.choice(_SERVER)(at, random, PartitionLog(where, offset, broker))
    return word_as_2_8(event) if cluster.zookeeper else event


def word_as_2_8(event: Event) -> Event:
    """Brokers of the ZooKeeper era log the same with other names of classes."""
    text = event.message.replace("[UnifiedLog ", "[Log ")
    text = text.replace("listenerType=BROKER, nodeId", "brokerId").replace(
        "Wrote producer snapshot", "Writing producer snapshot"
    )
    text = text.split(" with ")[0] if "producer snapshot" in text else text
    logger = {"kafka.log.UnifiedLog": "kafka.log.Log"}.get(event.logger, event.logger)
    logger = logger.replace("org.apache.kafka.storage.internals.log.", "kafka.log.")
    return replace(event, logger=logger, message=text)


def _rolled(at: float, random: Random, log: PartitionLog) -> Event:
    log_prefix, took = f"[UnifiedLog {log.where}, dir=/var/lib/kafka/data]", random.randint(1, 9)
    text = f"{log_prefix} Rolled new log segment at offset {log.offset} in {took} ms."
    return Event(at, "INFO", "kafka.log.UnifiedLog", text)


def _snapshot(at: float, random: Random, log: PartitionLog) -> Event:
    text = (
        f"[ProducerStateManager {log.where}] Wrote producer snapshot at offset {log.offset} with "
        f"{random.randint(3, 9)} producer ids in {random.randint(0, 4)} ms."
    )
    return Event(at, "INFO", "org.apache.kafka.storage.internals.log.ProducerStateManager", text)


def _retention(at: float, random: Random, log: PartitionLog) -> Event:
    seen = int(at * 1000) - 604_800_000 - random.randrange(9_000_000)
    text = (
        f"[UnifiedLog {log.where}, dir=/var/lib/kafka/data] Deleting segment LogSegment(baseOffset={log.offset}, "
        f"size={random.randint(9, 1073) * 1000003},"
        f" lastModifiedTime={seen + 12}, largestRecordTimestamp={seen}) due to log retention time 604800000ms breach "
        "based on the largest record timestamp in the segment"
    )
    return Event(at, "INFO", "kafka.log.UnifiedLog", text)


def _expired(at: float, random: Random, log: PartitionLog) -> Event:
    count = random.choice((2, 4, 12))
    text = f"[GroupMetadataManager brokerId={log.broker}] Removed {count} expired offsets in 1 milliseconds."
    return Event(at, "INFO", "kafka.coordinator.group.GroupMetadataManager", text)


def _scanner(at: float, random: Random, log: PartitionLog) -> Event:
    host = f"10.40.{random.randint(0, 3)}.{random.randint(2, 250)}"
    text = (
        f"[SocketServer listenerType=BROKER, nodeId={log.broker}] Failed authentication with /{host} "
        f"(channelId=10.20.0.{log.broker}:9093-{host}:{random.randint(32768, 60999)}-{random.randint(100, 99999)}) "
        "(SSL handshake failed)"
    )
    return Event(at, "INFO", "org.apache.kafka.common.network.Selector", text)


def _start_offset(at: float, random: Random, log: PartitionLog) -> Event:
    del random
    log_prefix = f"[UnifiedLog {log.where}, dir=/var/lib/kafka/data]"
    text = f"{log_prefix} Incremented log start offset to {log.offset} due to segment deletion"
    return Event(at, "INFO", "kafka.log.UnifiedLog", text)


_SERVER = (_rolled, _rolled, _snapshot, _snapshot, _retention, _start_offset, _expired, _scanner)


def controller_line(at: float, random: Random, *, node: int) -> Event:
    events, mean = random.randint(240, 900), random.uniform(0.4, 3.1)
    text = (
        f"[QuorumController id={node}] In the last 60000 ms period, {events} events were completed, which took an "
        f"average of {mean:.2f} ms each. The slowest event was maybeFenceStaleBroker({random.getrandbits(30)}), "
        f"which took {mean * random.randint(3, 19):.2f} ms."
    )
    return Event(at, "INFO", "org.apache.kafka.controller.EventPerformanceMonitor", text)


def service_line(at: float, random: Random, *, service: ConsumerService, working: bool) -> Event:
    lines = _WORK + _LIFE if working else _LIFE
    return random.choice(lines)(at, random, service)


def _batch(at: float, random: Random, service: ConsumerService) -> Event:
    text = (
        f"handled {random.randint(20, 500)} records of {service.topic}-{random.randrange(4)} in "
        f"{random.randint(11, 900)} ms, next offset {int(at * 7) % 90_000_000}"
    )
    return Event(at, "INFO", _logger(service, "RecordHandler"), text, (), f"{service.name}-poll-0")


def _store(at: float, random: Random, service: ConsumerService) -> Event:
    text = f"upserted {random.randint(1, 80)} rows, request id {random.getrandbits(64):016x}"
    return Event(at, "INFO", _logger(service, "Repository"), text, (), f"{service.name}-poll-0")


def _skipped(at: float, random: Random, service: ConsumerService) -> Event:
    text = f"skipping duplicate {random.getrandbits(48):012x}, version {random.randint(1, 9)} already stored"
    return Event(at, "WARN", _logger(service, "RecordHandler"), text, (), f"{service.name}-poll-0")


def _probe(at: float, random: Random, service: ConsumerService) -> Event:
    text = f"GET /actuator/health/readiness 200 {random.randint(1, 30)}ms from 10.42.{random.randint(0, 9)}.1"
    return Event(at, "INFO", _logger(service, "AccessLog"), text, (), f"http-nio-8080-exec-{random.randint(1, 9)}")


def _token(at: float, random: Random, service: ConsumerService) -> Event:
    text = f"refreshed access token of vault, valid for {random.randint(3000, 3600)} s"
    return Event(at, "INFO", _logger(service, "TokenRefresher"), text, (), "scheduling-1")


_WORK = (_batch, _batch, _batch, _store, _store, _skipped)
_LIFE = (_probe, _probe, _token)


def _logger(service: ConsumerService, name: str) -> str:
    if service.layout == "python":
        return f"{service.name.replace('-', '_')}.{name.lower()}"
    return f"net.example.{service.name.replace('-', '')}.{name}"


def write_logs(
    folder: Path,
    random: Random,
    *,
    cluster: SyntheticCluster,
    timeline: LogTimeline,
    size: int,
    brokers: bool = True,
    services: bool = True,
) -> None:
    """All log files of a cluster and of its services; without the brokers' where nobody handed them over."""
    files = list(_broker_files(cluster, timeline, random)) if brokers else []
    files += list(_service_files(cluster, timeline, random)) if services else []
    event_bytes = sum(
        len(e.message) + 60 + sum(map(len, e.trace)) for events in timeline.events.values() for e in events
    )
    weight = sum(share for _, share in files)
    for make, share in files:
        budget = max(size * 0.9 - event_bytes, size * 0.2) * share / weight
        write_log(folder, make(budget), timeline=timeline, end=cluster.end)


Shared = tuple["Callable[[float], LogFile]", float]


def _broker_files(cluster: SyntheticCluster, timeline: LogTimeline, random: Random) -> Iterator[Shared]:
    for broker in cluster.brokers:
        yield _server_file(cluster, timeline, random, broker=broker), 1.0
        yield _event_file(f"brokers/kafka-{broker}/state-change.log"), 0.0
        if cluster.zookeeper:
            yield _event_file(f"brokers/kafka-{broker}/controller.log"), 0.0
    for node in cluster.controllers:
        yield _event_file(f"controllers/controller-{node}/server.log"), 0.0
        yield _controller_file(cluster, timeline, random, node=node), 0.4


def _event_file(path: str) -> Callable[[float], LogFile]:
    return lambda _: LogFile(path=path, layout="broker", ordinary=(), hourly=True)


def _server_file(
    cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, broker: int
) -> Callable[[float], LogFile]:
    path = f"brokers/kafka-{broker}/server.log"

    def line(at: float) -> Event | None:
        return None if timeline.is_quiet(path, at) else server_line(at, random, cluster=cluster, broker=broker)

    def file(budget: float) -> LogFile:
        rows = ordinary(line, random, cluster=cluster, budget=budget)
        return LogFile(path=path, layout="broker", ordinary=rows, hourly=True)

    return file


def _controller_file(
    cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, node: int
) -> Callable[[float], LogFile]:
    path = f"controllers/controller-{node}/controller.log"

    def line(at: float) -> Event | None:
        return None if timeline.is_quiet(path, at) else controller_line(at, random, node=node)

    def file(budget: float) -> LogFile:
        rows = ordinary(line, random, cluster=cluster, budget=budget)
        return LogFile(path=path, layout="broker", ordinary=rows, hourly=True)

    return file


def _service_files(cluster: SyntheticCluster, timeline: LogTimeline, random: Random) -> Iterator[Shared]:
    for service in cluster.services:
        for path in service.files:
            yield _service_file(cluster, timeline, random, service=service, path=path), 1.0


def _service_file(
    cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, service: ConsumerService, path: str
) -> Callable[[float], LogFile]:
    def line(at: float) -> Event | None:
        if timeline.is_quiet(path, at):
            return None
        return service_line(at, random, service=service, working=not timeline.is_idle(path, at))

    def file(budget: float) -> LogFile:
        rows = ordinary(line, random, cluster=cluster, budget=budget)
        return LogFile(path=path, layout=service.layout, ordinary=rows, zone_hours=service.zone_hours)

    return file
