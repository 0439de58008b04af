"""Logs of brokers: producer snapshots, blocks of producer ids, restarts, collections and running out of heap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.production.ids_cluster import RELOAD_HOURS, BrokerHistory, count, heap_used, moment
from bench.production.ids_names import LEAKY_TOPIC, PARTITIONS, topic

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path
    from random import Random

MODERN, ERA_3_3, ERA_2_3 = "3.7", "3.3", "2.3"
IDS_IN_BLOCK = 1000
FOLDER = "/var/lib/kafka/data"
LINES_OF_QUIET_HOUR = 2
BYTES_OF_LINE = 330  # some come in pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerLog:
    """What a broker's log is of: `new_ids` producer ids in an hour, of which only ZooKeeper's brokers log the blocks.

    Ids are spread over `partitions` of the topic.
    """

    version: str = MODERN
    hours: int = 72
    new_ids: float = 0.0
    leaks: tuple[float, float] = (0.0, 1e9)
    topic: str = LEAKY_TOPIC
    out_of_memory: tuple[float, ...] = ()
    ids_on_other_brokers: int = 4
    partitions: int = PARTITIONS


def log_time(when: datetime) -> str:
    """The time stamp of log4j's ISO8601 date."""
    return when.strftime("%Y-%m-%d %H:%M:%S,") + f"{when.microsecond // 1000:03d}"


def write_broker_logs(
    folder: Path, random: Random, *, brokers: tuple[BrokerHistory, ...], log: BrokerLog, size: int
) -> None:
    """`server.log` of each broker, one file an hour; more bytes mean more segments rolled and groups rebalanced."""
    lines = max(LINES_OF_QUIET_HOUR, size // (len(brokers) * log.hours * BYTES_OF_LINE))
    for broker in brokers:
        broker_folder = folder / broker.host.partition(".")[0]
        broker_folder.mkdir(parents=True, exist_ok=True)
        for hour in range(log.hours):
            name = f"server.log.{moment(hour).strftime('%Y-%m-%d-%H')}"
            events = sorted(_hour(broker, hour, random, log=log, lines=lines))
            with (broker_folder / name).open("w") as file:
                for at, text in events:
                    if _runs(broker, at):
                        file.write(f"[{log_time(moment(at))}] {_of_version(text, log.version)}\n")


def _of_version(text: str, version: str) -> str:
    """Before 3.0 there was one log, not a local and a unified one."""
    if version != ERA_2_3:
        return text
    one = text.replace("[LocalLog ", "[Log ").replace("[UnifiedLog ", "[Log ")
    return one.replace("(kafka.log.LocalLog)", "(kafka.log.Log)").replace("(kafka.log.UnifiedLog)", "(kafka.log.Log)")


def _runs(broker: BrokerHistory, hour: float) -> bool:
    return not any(at - 0.02 < hour < at for at in broker.restarts)


def _hour(
    broker: BrokerHistory, hour: int, random: Random, *, log: BrokerLog, lines: int
) -> Iterator[tuple[float, str]]:
    for number in range(lines):
        at = hour + (number + random.random()) / lines
        yield from _quiet(at, random, log=log)
    for roll in range(2):
        at = hour + (roll + random.random()) / 2
        yield from _rolled(broker, at, random, log=log)
    yield from _blocks(broker, hour, random, log=log)
    for restart in broker.restarts:
        if int(restart) == hour:
            yield from _started(broker, restart, random, log=log)
    for at in log.out_of_memory:
        if int(at) == hour:
            yield from _out_of_memory(broker, at, log=log)


def _quiet(at: float, random: Random, *, log: BrokerLog) -> Iterator[tuple[float, str]]:
    where = f"{topic(random.randrange(390))}-{random.randrange(PARTITIONS)}"
    offset = 90_000_000 + int(at * 70_000) + random.randrange(9000)
    kind = random.random()
    if kind < 0.45:  # noqa: PLR2004 - how often each line comes
        yield at, _roll(where, offset, random.randrange(1, 9))
        yield at + 2e-6, _snapshot(where, offset, random.randrange(log.ids_on_other_brokers + 1), log=log)
    elif kind < 0.7:  # noqa: PLR2004 - the same
        yield from _rebalanced(at, where, offset)
    else:
        yield (
            at,
            (
                f"INFO [UnifiedLog partition={where}, dir={FOLDER}] Incremented log start offset to {offset} "
                "due to leader offset increment (kafka.log.UnifiedLog)"
            ),
        )


def _roll(where: str, offset: int, milliseconds: int) -> str:
    return (
        f"INFO [LocalLog partition={where}, dir={FOLDER}] Rolled new log segment at offset {offset} "
        f"in {milliseconds} ms. (kafka.log.LocalLog)"
    )


def _rebalanced(at: float, where: str, offset: int) -> Iterator[tuple[float, str]]:
    group, generation, place = f"{where}-reader", offset % 90, f"__consumer_offsets-{offset % 50}"
    yield (
        at,
        (
            f"INFO [GroupCoordinator {1 + offset % 3}]: Preparing to rebalance group {group} in state "
            f"PreparingRebalance with old generation {generation} ({place}) (reason: Adding new member "
            f"{group}-{offset:016x} with group instance id None; client reason: rebalance failed due to "
            "MemberIdRequiredException) (kafka.coordinator.group.GroupCoordinator)"
        ),
    )
    yield (
        at + 0.0009,
        (
            f"INFO [GroupCoordinator {1 + offset % 3}]: Stabilized group {group} generation {generation + 1} ({place}) "
            f"with {offset % 5 + 1} members (kafka.coordinator.group.GroupCoordinator)"
        ),
    )


def _rolled(broker: BrokerHistory, at: float, random: Random, *, log: BrokerLog) -> Iterator[tuple[float, str]]:
    if any(restart - 0.02 < at < restart + RELOAD_HOURS for restart in broker.restarts):
        return
    partition = random.randrange(log.partitions)
    offset = 20_000_000 + int(at * 41_000) + partition
    where = f"{log.topic}-{partition}"
    yield at, _roll(where, offset, random.randrange(1, 30))
    ids = round(count(broker, at) / log.partitions * (1 + 0.02 * (partition % 5 - 2)))
    yield at + 2e-6, _snapshot(where, offset, ids, log=log)


def _snapshot(where: str, offset: int, ids: int, *, log: BrokerLog) -> str:
    prefix = f"INFO [ProducerStateManager partition={where}]"
    if log.version == ERA_2_3:
        return f"{prefix} Writing producer snapshot at offset {offset} (kafka.log.ProducerStateManager)"
    package = "kafka.log" if log.version == ERA_3_3 else "org.apache.kafka.storage.internals.log"
    space = "" if log.version == MODERN else " "  # 3.5 to 3.9 print none
    return (
        f"{prefix}{space}Wrote producer snapshot at offset {offset} with {ids} producer ids in {ids // 9000 + 1} ms. "
        f"({package}.ProducerStateManager)"
    )


def _blocks(broker: BrokerHistory, hour: int, random: Random, *, log: BrokerLog) -> Iterator[tuple[float, str]]:
    if not log.new_ids or not log.leaks[0] <= hour < log.leaks[1]:
        return
    per_hour = log.new_ids / 3 / IDS_IN_BLOCK  # three brokers hand ids out
    first, last = int(hour * per_hour), int((hour + 1) * per_hour)
    for number in range(first, last):
        at = hour + (number - first + random.random()) / (last - first)
        yield at, _block(broker.number, number, log=log)


def _blocks_before(broker: BrokerHistory, hour: float, *, log: BrokerLog) -> int:
    return int(hour * log.new_ids / 3 / IDS_IN_BLOCK) + sum(at < hour for at in broker.restarts)


def _block(broker: int, number: int, *, log: BrokerLog) -> str:
    start = 4_120_000 + (number * 3 + broker - 1) * IDS_IN_BLOCK
    by_zookeeper = f"by writing to Zk with path version {start // IDS_IN_BLOCK + 1}"
    manager = "kafka.coordinator.transaction"
    if log.version == ERA_2_3:
        block = f"(brokerId:{broker},blockStartProducerId:{start},blockEndProducerId:{start + IDS_IN_BLOCK - 1})"
        who = f"[ProducerId Manager {broker}]: "
        return f"INFO {who}Acquired new producerId block {block} {by_zookeeper} ({manager}.ProducerIdManager)"
    if log.version == ERA_3_3:
        block = f"ProducerIdsBlock(assignedBrokerId={broker}, firstProducerId={start}, size={IDS_IN_BLOCK})"
        return f"INFO Acquired new producerId block {block} {by_zookeeper} ({manager}.ZkProducerIdManager$)"
    record = f"ProducerIdsRecord(brokerId={broker}, brokerEpoch={1000 + broker}, nextProducerId={start + IDS_IN_BLOCK})"
    who = f"[QuorumController id={broker}] "
    return f"INFO {who}Replaying ProducerIdsRecord {record} (org.apache.kafka.controller.ProducerIdControlManager)"


def _started(broker: BrokerHistory, at: float, random: Random, *, log: BrokerLog) -> Iterator[tuple[float, str]]:
    server = "BrokerServer" if log.version == MODERN else "KafkaServer"
    yield at, f"INFO [{server} id={broker.number}] Transition from SHUTDOWN to STARTING (kafka.server.{server})"
    yield at + 0.001, "INFO Loading logs from log dirs ArrayBuffer(/var/lib/kafka/data) (kafka.log.LogManager)"
    package = "org.apache.kafka.storage.internals.log" if log.version == MODERN else "kafka.log"
    space = "" if log.version == MODERN else " "
    if log.version != MODERN:  # a broker that starts takes a block, and what was left of its last one is lost
        yield at + RELOAD_HOURS + 0.003, _block(broker.number, _blocks_before(broker, at, log=log), log=log)
    for partition in range(PARTITIONS):
        later = at + 0.002 + partition * RELOAD_HOURS / PARTITIONS + random.random() / 3600
        offset = 20_000_000 + int(at * 41_000) + partition
        path = f"{FOLDER}/{log.topic}-{partition}/{offset:020d}.snapshot"
        yield (
            later,
            (
                f"INFO [ProducerStateManager partition={log.topic}-{partition}]{space}Loading producer state "
                f"from snapshot file 'SnapshotFile(offset={offset}, file={path})' ({package}.ProducerStateManager)"
            ),
        )
    yield at + RELOAD_HOURS + 0.004, f"INFO [{server} id={broker.number}] started (kafka.server.{server})"


def _out_of_memory(broker: BrokerHistory, at: float, *, log: BrokerLog) -> Iterator[tuple[float, str]]:
    yield (
        at,
        (
            "ERROR Uncaught exception in scheduled task 'flush-log' (org.apache.kafka.server.util.KafkaScheduler)\n"
            "java.lang.OutOfMemoryError: Java heap space"
        ),
    )
    yield (
        at + 0.001,
        (
            f"ERROR [ReplicaManager broker={broker.number}] Error processing append operation on "
            f"partition {log.topic}-4 (kafka.server.ReplicaManager)\n"
            "java.lang.OutOfMemoryError: Java heap space"
        ),
    )


def write_collections(folder: Path, random: Random, *, broker: BrokerHistory, hours: float, size: int) -> None:
    """`kafkaServer-gc.log`: pauses and heap before and after each; more bytes mean more pauses."""
    folder.mkdir(parents=True, exist_ok=True)
    pauses = max(100, size // 128)
    with (folder / "kafkaServer-gc.log").open("w") as file:
        for number in range(pauses):
            hour = number * hours / pauses
            used, full = heap_used(broker, hour, random) >> 20, broker.heap_bytes >> 20
            before = min(full, used + random.randrange(10, 120))
            when = moment(hour).strftime("%Y-%m-%dT%H:%M:%S.") + f"{number % 1000:03d}+0000"
            file.write(
                f"[{when}][gc             ] GC({number}) Pause Young (Normal) (G1 Evacuation Pause) "
                f"{before}M->{used}M({full}M) {random.uniform(3, 40):.3f}ms\n"
            )
