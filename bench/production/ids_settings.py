"""Settings and descriptions of clusters as Kafka's tools print them, and listings of data folders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.production.ids_cluster import BrokerHistory, count, file_time, moment
from bench.production.ids_names import LEAKY_TOPIC, PARTITIONS, topic

if TYPE_CHECKING:
    from pathlib import Path

DAY_MILLISECONDS, WEEK_MILLISECONDS = 86_400_000, 604_800_000
PRODUCER_EXPIRATION, TRANSACTIONAL_EXPIRATION = "producer.id.expiration.ms", "transactional.id.expiration.ms"
BYTES_OF_SNAPSHOT_HEADER, BYTES_OF_SNAPSHOT_ENTRY = 10, 46


def write_configs(
    folder: Path, *, brokers: tuple[BrokerHistory, ...], set_to: int = 0, default: int = DAY_MILLISECONDS
) -> None:
    """`kafka-configs --describe --all` of each broker since 3.4; `set_to` stands in server.properties."""
    folder.mkdir(parents=True, exist_ok=True)
    default = DAY_MILLISECONDS
    for broker in brokers:
        synonyms = f"DEFAULT_CONFIG:{PRODUCER_EXPIRATION}={default}"
        if set_to:
            synonyms = f"STATIC_BROKER_CONFIG:{PRODUCER_EXPIRATION}={set_to}, {synonyms}"
        with (folder / f"kafka-configs.broker-{broker.number}.txt").open("w") as file:
            file.write(f"All configs for broker {broker.number} are:\n")
            file.write(_config("log.retention.hours", "168"))
            file.write(_config("num.io.threads", "8"))
            file.write(f"  {PRODUCER_EXPIRATION}={set_to or default} sensitive=false synonyms={{{synonyms}}}\n")
            file.write(_config(TRANSACTIONAL_EXPIRATION, str(WEEK_MILLISECONDS)))


def write_old_configs(folder: Path, *, brokers: tuple[BrokerHistory, ...]) -> None:
    """`kafka-configs --describe --all` before 3.4: producer ids expire with transactional ids."""
    folder.mkdir(parents=True, exist_ok=True)
    for broker in brokers:
        with (folder / f"kafka-configs.broker-{broker.number}.txt").open("w") as file:
            file.write(f"All configs for broker {broker.number} are:\n")
            file.write(_config("inter.broker.protocol.version", "3.3-IV3"))
            file.write(_config("log.retention.hours", "168"))
            file.write(_config(TRANSACTIONAL_EXPIRATION, str(WEEK_MILLISECONDS)))


def _config(name: str, value: str) -> str:
    return f"  {name}={value} sensitive=false synonyms={{DEFAULT_CONFIG:{name}={value}}}\n"


def write_server_properties(folder: Path, *, broker: BrokerHistory, lines: tuple[str, ...]) -> None:
    """`server.properties` of a broker."""
    folder.mkdir(parents=True, exist_ok=True)
    usual = (
        f"broker.id={broker.number}",
        f"listeners=SASL_SSL://{broker.host}:9093",
        "log.dirs=/var/lib/kafka/data",
        "num.partitions=12",
        "default.replication.factor=3",
        "min.insync.replicas=2",
        "offsets.topic.replication.factor=3",
    )
    (folder / "server.properties").write_text("\n".join((*usual, *lines)) + "\n")


def write_topics(folder: Path, *, topics: int, leaky: str = LEAKY_TOPIC) -> None:
    """`kafka-topics --describe` of all topics: all well."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "kafka-topics.txt").open("w") as file:
        for number in range(topics):
            name = leaky if number == topics // 2 else topic(number)
            file.write(
                f"Topic: {name}\tTopicId: {_topic_id(number)}\tPartitionCount: 3\tReplicationFactor: 3\tConfigs: \n"
            )
            for partition in range(3):
                replicas = ",".join(str((number + partition + place) % 3 + 1) for place in range(3))
                leader = replicas[0]
                file.write(
                    f"\tTopic: {name}\tPartition: {partition}\tLeader: {leader}\t"
                    f"Replicas: {replicas}\tIsr: {replicas}\n"
                )


def _topic_id(number: int) -> str:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    value = (number + 7) * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**132
    return "".join(letters[value >> 6 * place & 63] for place in range(22))


def write_listings(folder: Path, *, broker: BrokerHistory, hours: tuple[float, ...], name: str = LEAKY_TOPIC) -> None:
    """`ls -l` of the snapshots of one topic's partitions: 46 bytes for each id, and a header."""
    folder.mkdir(parents=True, exist_ok=True)
    for hour in hours:
        with (folder / f"ls-snapshots.{file_time(hour)}.txt").open("w") as file:
            for partition in range(PARTITIONS):
                ids = count(broker, hour) // PARTITIONS
                size = BYTES_OF_SNAPSHOT_HEADER + BYTES_OF_SNAPSHOT_ENTRY * ids
                offset = 20_000_000 + int(hour * 41_000) + partition
                when = moment(hour).strftime("%b %d %H:%M")
                path = f"/var/lib/kafka/data/{name}-{partition}/{offset:020d}.snapshot"
                file.write(f"-rw-r--r-- 1 kafka kafka {size:9d} {when} {path}\n")
