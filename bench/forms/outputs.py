"""Writes large outputs of programs: Kafka's tools, `ss`, neighbour tables, tcpdump, class histograms, Prometheus."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil
from random import Random
from typing import TYPE_CHECKING

from bench.forms.collectors import SEED
from bench.production import ids_cluster, ids_parts
from bench.production.clusters_snapshots import write_groups
from bench.production.clusters_world import ConsumerService, SyntheticCluster, make_cluster
from bench.production.ids_names import topic
from bench.production.ids_producers import single_use
from bench.production.ids_scrapes import write_ranges
from bench.production.networks_captures import capture
from bench.production.networks_faults import NetworkFaults, nothing
from bench.production.networks_fleet import HostFleet, Node, dimensions, make_fleet
from bench.production.networks_sockets import broker_sockets, print_sockets
from bench.production.networks_tables import broker_entries, print_table
from bench.production.networks_writer import output

if TYPE_CHECKING:
    from pathlib import Path

    from bench.forms.form import Write

BROKERS = ids_cluster.equal_brokers(3, ids_cluster.flat(9_000), connections=ids_cluster.flat(400))
HOURS = 72.0
IDS_AN_HOUR = 400.0
"""New producer ids of a partition; they stay for a day."""

GROUP_BYTES = 5_400
"""What `kafka-consumer-groups` prints of a group on 24 partitions, with its state."""

REPLICA_BYTES = 82
REPLICAS_OF_BROKER = 30_000
"""More than the 4,000 partitions of a broker that the Kafka project advises; more bytes mean more brokers."""

RANGE_BROKERS = 30
RANGE_BYTES_OF_HOUR = 240 * 61
"""Four points a minute of three series."""

IPV4 = 4


def part(made: ids_parts.Part, weight: float = 1.0) -> Write:
    """A part of the proving ground's captures. `weight` is what it writes of each byte that it is asked for."""
    return lambda folder, size: made(folder, Random(SEED), int(size / weight))


topics = part(ids_parts.topics(), 0.97)
describe_producers = part(ids_parts.described(single_use(IDS_AN_HOUR), (0.0, HOURS)), 0.9)
dump_log = part(ids_parts.dumped(single_use(IDS_AN_HOUR), (0.0, HOURS)), 0.75)
histograms = part(ids_parts.histograms(BROKERS, (0.0, HOURS / 2, HOURS)), 0.62)
scrapes = part(ids_parts.scraped(BROKERS), 0.95)


def query_range(folder: Path, size: int) -> None:
    """Answers of `query_range` at the smallest step of the proving ground; more bytes mean a longer time."""
    brokers = ids_cluster.equal_brokers(RANGE_BROKERS, ids_cluster.flat(9_000), connections=ids_cluster.flat(400))
    hours = max(1.0, size / (RANGE_BROKERS * RANGE_BYTES_OF_HOUR))
    write_ranges(folder, Random(SEED), brokers=brokers, hours=hours, size=2 * size)


def consumer_groups(folder: Path, size: int) -> None:
    """`kafka-consumer-groups --describe --all-groups`, and the groups' states."""
    random = Random(SEED)
    small = make_cluster(random, 50_000_000, name="prod", start=1_795_000_000.0)
    services = tuple(_services(small, max(1, size // GROUP_BYTES)))
    write_groups(folder, replace(small, services=services), random, at=small.start)


def _services(cluster: SyntheticCluster, number: int) -> Iterator[ConsumerService]:
    for index in range(number):
        service = cluster.services[index % len(cluster.services)]
        yield replace(service, name=f"{service.name}-{index}", group=f"{service.group}-{index}")


def log_dirs(folder: Path, size: int) -> None:
    """`kafka-log-dirs --describe`: one line of JSON, broker by broker."""
    brokers = ceil(size / (REPLICA_BYTES * REPLICAS_OF_BROKER))
    with (folder / "kafka-log-dirs.txt").open("w", encoding="utf-8") as out:
        ids = range(1, brokers + 1)
        out.write("Querying brokers for log directories information\n")
        out.write(f"Received log directory information from brokers {','.join(map(str, ids))}\n")
        out.write('{"brokers":[')
        for broker in ids:
            out.write(f'{"," if broker > 1 else ""}{{"broker":{broker},"logDirs":[{{"partitions":[')
            out.writelines(_replicas(REPLICAS_OF_BROKER))
            out.write('],"error":null,"logDir":"/var/lib/kafka/data"}]}')
        out.write('],"version":1}\n')


def _replicas(number: int) -> Iterator[str]:
    for index in range(number):
        where = {"partition": f"{topic(index // 12)}-{index % 12}", "size": index * 7919 % 10**9, "offsetLag": 0}
        yield ("," if index else "") + json.dumps({**where, "isFuture": False}, separators=(",", ":"))


Look = Callable[[HostFleet, Node, datetime, Random], Iterable[str]]
"""What a broker's command prints at a moment."""


@dataclass(frozen=True, slots=True)
class RepeatedOutput:
    """A command's output on every broker of a fleet, look by look; more bytes mean more looks.

    `row_bytes` is about what it prints for each host.
    """

    command: str
    look: Look
    row_bytes: float

    def __call__(self, folder: Path, size: int) -> None:
        random = Random(SEED)
        fleet = fleet_of(size, self.row_bytes, random)
        for moment in fleet.looks:
            for broker in fleet.brokers:
                rows = self.look(fleet, broker, moment, random)
                output(folder / broker.name, self.command, rows, moment=moment)


def fleet_of(size: int, row_bytes: float, random: Random) -> HostFleet:
    """A fleet whose looks print about so many bytes."""
    hosts, brokers, looks = dimensions(size)
    more = ceil(size / (hosts * brokers * looks * row_bytes))
    return make_fleet(random, size, reuse=timedelta(hours=-3), logs="before", more_looks=more)


def _sockets(fleet: HostFleet, broker: Node, moment: datetime, random: Random) -> Iterator[str]:
    rows = broker_sockets(fleet, broker, moment=moment, faults=NetworkFaults(), random=random, family=IPV4)
    return print_sockets(list(rows))


def _sockets_inside(fleet: HostFleet, broker: Node, moment: datetime, random: Random) -> Iterator[str]:
    """`ss -tinp`: below each socket what TCP knows of it."""
    for number, line in enumerate(_sockets(fleet, broker, moment, random)):
        if not number:
            yield line
            continue
        yield f'{line.rstrip()} users:(("java",pid=2117,fd={number + 130}))\n'
        rtt = random.randrange(200, 900) / 1000
        yield (
            f"\t cubic wscale:7,7 rto:204 rtt:{rtt}/{rtt / 2:.3f} ato:40 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 "
            f"cwnd:10 bytes_sent:{random.getrandbits(24)} bytes_acked:{random.getrandbits(24)} segs_out:{number} "
            f"lastsnd:{random.getrandbits(16)} lastrcv:{random.getrandbits(16)} delivered:{random.getrandbits(12)} "
            f"minrtt:0.187\n"
        )


def _neighbours(form: str) -> Look:
    def look(fleet: HostFleet, broker: Node, moment: datetime, random: Random) -> Iterator[str]:
        rows = broker_entries(fleet, broker, moment=moment, faults=NetworkFaults(), random=random, family=IPV4)
        return print_table(rows, form)

    return look


def _packets(fleet: HostFleet, broker: Node, moment: datetime, random: Random) -> Iterator[str]:
    return capture(replace(fleet, looks=(moment,)), broker, faults=nothing(fleet, random), random=random)


ss = RepeatedOutput("ss_tan", _sockets, 48)
ss_inside = RepeatedOutput("ss_tinp", _sockets_inside, 170)
ip_neigh = RepeatedOutput("ip_s_neigh", _neighbours("ip_s_neigh"), 80)
ip_neigh_json = RepeatedOutput("ip_j_neigh", _neighbours("ip_j_neigh"), 82)
arp = RepeatedOutput("arp_an", _neighbours("arp_an"), 52)
tcpdump = RepeatedOutput("tcpdump_port_9092", _packets, 195)
