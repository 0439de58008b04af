# ruff: noqa: E501 - lines as programs print them
"""Makes up the capture of a large cluster: hosts with their sockets and neighbours, partitions, producer ids, logs.

What is in it is known: the addresses of some clients were others' before, and a broker answers to the dead MACs; one
topic leaks producer ids. The logs hold the founding incident of the other benchmark. All of it grows with `share`.
"""

from __future__ import annotations

import os
import random
import shutil
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from bench.generate import generate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SEED = 7
WHEN = datetime(2021, 2, 16, 12, tzinfo=UTC)
BASE_MEGABYTES, BASE_WRITERS = 250, 40
"""Logs are made once and copied under other names: making up 10 GB would take longer than all the rest."""

MAX_LINE_BYTES = 1 << 16

BROKERS_A_CLIENT = 10
"""A client is connected to the leaders of what it writes, not to all."""

REUSED_A_THOUSAND = 2
"""Clients whose address belonged to another host before, per thousand."""

LEAKING, LEAK_SHARE, LEAK_PARTITIONS = "events", 0.6, 48
PARTITIONS_A_TOPIC = 50
IDS_A_PARTITION = 200


@dataclass(frozen=True, slots=True)
class ClusterSize:
    """How much of everything."""

    brokers: int
    hosts: int
    partitions: int
    ids: int
    megabytes: int


FULL = ClusterSize(brokers=100, hosts=10_000, partitions=1_000_000, ids=10_000_000, megabytes=10_000)


def of(share: float) -> ClusterSize:
    """Return this share of the full size; never fewer than three brokers and 250 MB of logs."""
    return ClusterSize(
        brokers=max(3, round(FULL.brokers * share)),
        hosts=max(100, round(FULL.hosts * share)),
        partitions=round(FULL.partitions * share),
        ids=round(FULL.ids * share),
        megabytes=max(BASE_MEGABYTES, round(FULL.megabytes * share)),
    )


def make(folder: Path, size: ClusterSize, logs: Path) -> Path:
    """Fill `folder`, which must not exist yet, with a capture of this size. `logs` keeps the logs that are copied."""
    jobs: list[tuple[Callable[..., None], tuple[object, ...]]] = [
        (_hosts, (folder, size, part)) for part in range(PARTS)
    ]
    jobs += [(_topics, (folder, size)), (_ids, (folder, size))]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for done in [pool.submit(job, *arguments) for job, arguments in jobs]:
            done.result()
    _logs(folder, size, logs)
    return folder


PARTS = 8


def _hosts(folder: Path, size: ClusterSize, part: int) -> None:
    """Write what every eighth host says of itself."""
    plan = AddressPlan(size)
    for number in range(part, size.hosts, PARTS):
        _host(folder, plan.client(number), plan.of_client(number))
    for broker in range(part, size.brokers, PARTS):
        _host(folder, plan.broker(broker), plan.of_broker(broker))


class AddressPlan:
    """Who has which address and MAC, and who talks to whom: by number, so that any part can be made alone."""

    def __init__(self, size: ClusterSize) -> None:
        self.size = size

    def client(self, number: int) -> str:
        """Return a client's name."""
        return f"app-{number:05d}"

    def broker(self, number: int) -> str:
        """Return a broker's name."""
        return f"kafka-{number:03d}"

    def talks_to(self, number: int) -> list[int]:
        """Return the brokers that a client talks to."""
        few = min(BROKERS_A_CLIENT, self.size.brokers)
        return [(number + step * 7) % self.size.brokers for step in range(few)]

    def talk_to(self, broker: int) -> Iterator[int]:
        """Yield the clients that talk to a broker."""
        return (number for number in range(self.size.hosts) if broker in self.talks_to(number))

    def cut_off(self, number: int, broker: int) -> bool:
        """Whether the first of a client's brokers answers to a dead MAC."""
        return number % 1000 < REUSED_A_THOUSAND and broker == self.talks_to(number)[0]

    def of_client(self, number: int) -> dict[str, str]:
        """Return what a client's commands print."""
        here, brokers = _address(number), self.talks_to(number)
        sockets = [
            _socket(
                "SYN-SENT" if self.cut_off(number, broker) else "ESTAB",
                f"{here}:{_port(number, broker)}",
                f"{_broker_address(broker)}:9092",
            )
            for broker in brokers
        ]  # fmt: skip - a call on two lines
        known = [_neighbour(_broker_address(broker), _broker_mac(broker)) for broker in brokers]
        return {"sockets": _table(sockets), "neighbours": "".join(known), "links": _link(here, _mac(number))}

    def of_broker(self, broker: int) -> dict[str, str]:
        """Return what a broker's commands print."""
        here, clients = _broker_address(broker), list(self.talk_to(broker))
        sockets = [f"LISTEN   0      50     {here}:9092  0.0.0.0:*\n"] + [
            _socket(
                "SYN-RECV" if self.cut_off(number, broker) else "ESTAB",
                f"{here}:9092",
                f"{_address(number)}:{_port(number, broker)}",
            )
            for number in clients
        ]  # fmt: skip - a call on two lines
        known = [_neighbour(_address(number), _mac(number, dead=self.cut_off(number, broker))) for number in clients]
        return {"sockets": _table(sockets), "neighbours": "".join(known), "links": _link(here, _broker_mac(broker))}


COMMANDS = {
    "sockets": "ss -tano",
    "neighbours": "ip -s neigh",
    "links": "ip address",
    "settings": "sysctl net.ipv4.neigh",
}
SETTINGS = "".join(
    f"net.ipv4.neigh.{device}.{key} = {value}\n"
    for device in ("default", "eth0", "lo")
    for key, value in (("gc_thresh1", 128), ("gc_thresh2", 512), ("gc_thresh3", 1024), ("gc_stale_time", 60))
    if device == "default" or key == "gc_stale_time"
)


def _host(folder: Path, name: str, events: dict[str, str]) -> None:
    host_folder = folder / "hosts" / name
    host_folder.mkdir(parents=True)
    for what, text in {**events, "settings": SETTINGS}.items():
        head = f"### leadsman {WHEN:%Y-%m-%dT%H:%M:%S}.000Z {name} host/{what}.txt $ {COMMANDS[what]}\n"
        (host_folder / f"{what}.txt").write_text(f"{head}{text}### leadsman exit 0\n")


def _address(number: int) -> str:
    return f"10.{20 + number // 62_500}.{number // 250 % 250}.{number % 250 + 1}"


def _broker_address(number: int) -> str:
    return f"10.10.0.{number + 1}"


def _mac(number: int, *, dead: bool = False) -> str:
    digits = f"{number:08x}"
    return ":".join(["02", "dd" if dead else "5a", *(digits[at : at + 2] for at in range(0, 8, 2))])


def _broker_mac(number: int) -> str:
    return f"02:bb:00:00:00:{number:02x}"


def _port(number: int, broker: int) -> int:
    return 32_768 + (number * 31 + broker) % 28_000


def _socket(state: str, local: str, remote: str) -> str:
    opening = " timer:(on,1.584ms,3)" if state.startswith("SYN") else ""
    return f"{state:<8} 0      0      {local} {remote}{opening}\n"


def _table(sockets: list[str]) -> str:
    return "State    Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n" + "".join(sockets)


def _neighbour(address: str, mac: str) -> str:
    return f"{address} dev eth0 lladdr {mac}  ref 1 used 2/0/2probes 4 REACHABLE \n"


def _link(address: str, mac: str) -> str:
    return (
        "2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP group default qlen 1000\n"
        f"    link/ether {mac} brd ff:ff:ff:ff:ff:ff\n"
        f"    inet {address}/8 scope global eth0\n       valid_lft forever preferred_lft forever\n"
    )


def _topics(folder: Path, size: ClusterSize) -> None:
    """Write what `kafka-topics --describe` prints."""
    (folder / "kafka").mkdir(parents=True, exist_ok=True)
    with (folder / "kafka" / "topics.txt").open("w") as file:
        file.write(_head("kafka/topics.txt", "kafka-topics --bootstrap-server localhost:9092 --describe"))
        for topic in range(max(1, size.partitions // PARTITIONS_A_TOPIC)):
            name = f"topic-{topic:05d}"
            file.write(
                f"Topic: {name}\tTopicId: {topic:022d}\tPartitionCount: {PARTITIONS_A_TOPIC}\tReplicationFactor: 3\t"
                "Configs: min.insync.replicas=2\n"
            )
            for partition in range(PARTITIONS_A_TOPIC):
                replicas = ",".join(str((topic + partition + step) % size.brokers) for step in range(3))
                leader = replicas.partition(",")[0]
                file.write(
                    f"\tTopic: {name}\tPartition: {partition}\tLeader: {leader}\tReplicas: {replicas}\tIsr: {replicas}\t"
                    "Elr: \tLastKnownElr: \n"
                )
        file.write("### leadsman exit 0\n")


def _head(file: str, command: str) -> str:
    return f"### leadsman {WHEN:%Y-%m-%dT%H:%M:%S}.000Z cluster {file} $ {command}\n"


def _ids(folder: Path, size: ClusterSize) -> None:
    """Write what `kafka-transactions describe-producers` prints: one topic leaks, the others have steady fleets."""
    chance = random.Random(SEED)
    (folder / "kafka").mkdir(parents=True, exist_ok=True)
    leaking = round(size.ids * LEAK_SHARE)
    with (folder / "kafka" / "producers.txt").open("w") as file:
        for partition in range(LEAK_PARTITIONS):
            file.write(_producers(LEAKING, partition))
            file.writelines(_leaked(chance, leaking // LEAK_PARTITIONS, partition))
            file.write("### leadsman exit 0\n")
        for number in range((size.ids - leaking) // IDS_A_PARTITION):
            file.write(_producers(f"topic-{number // PARTITIONS_A_TOPIC:05d}", number % PARTITIONS_A_TOPIC))
            file.writelines(_fleet(number))
            file.write("### leadsman exit 0\n")


def _producers(topic: str, partition: int) -> str:
    words = f"--bootstrap-server localhost:9092 describe-producers --topic {topic} --partition {partition}"
    columns = "ProducerId\tProducerEpoch\tLatestCoordinatorEpoch\tLastSequence\tLastTimestamp\t"
    return _head("kafka/producers.txt", f"kafka-transactions {words}") + f"{columns}CurrentTransactionStartOffset\t\n"


def _leaked(chance: random.Random, count: int, partition: int) -> Iterator[str]:
    """Yield ids that sent one record each, spread over a day."""
    end = int(WHEN.timestamp() * 1000)
    for number in range(count):
        at = end - int(chance.random() * timedelta(days=1).total_seconds() * 1000)
        yield f"{partition * count + number}\t0\t-1\t0\t{at}\tNone\t\n"


def _fleet(number: int) -> Iterator[str]:
    """Yield ids that send all the time."""
    end = int(WHEN.timestamp() * 1000)
    for producer in range(IDS_A_PARTITION):
        yield f"{20_000_000 + number * IDS_A_PARTITION + producer}\t0\t-1\t{100_000 + producer}\t{end - producer}\tNone\t\n"


def _logs(folder: Path, size: ClusterSize, logs: Path) -> None:
    """Copy the same made-up logs under other names until they are as many as wanted.

    The last line of each file of a copy is repeated as often as copies were made before: of files with the same content
    a diagnosis reads one.
    """
    base = generate(logs, BASE_MEGABYTES, BASE_WRITERS)
    for copy in range(size.megabytes // BASE_MEGABYTES):
        zone = folder / "logs" / f"zone-{copy:02d}"
        shutil.copytree(base, zone)
        for file in zone.rglob("*"):
            if copy and file.is_file():
                _repeat_last_line(file, copy)


def _repeat_last_line(file: Path, times: int) -> None:
    with file.open("rb+") as log:
        log.seek(-min(MAX_LINE_BYTES, file.stat().st_size), os.SEEK_END)
        last = log.read().splitlines(keepends=True)[-1]
        log.write(last * times)
