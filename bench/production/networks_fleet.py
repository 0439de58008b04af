"""A made-up fleet of Kafka brokers and client hosts on one Ethernet segment, with addresses that instances reuse."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

FIRST_LOOK = datetime(2026, 11, 18, 9, 0, tzinfo=UTC)
BETWEEN_LOOKS = timedelta(minutes=10)
SERVICES = ("ledger-writer", "payment-router", "card-events", "fraud-scorer", "statement-builder", "fx-quotes")
LOOK_BYTES = 15_000_000  # of a look at 2,000 hosts and 30 brokers, about
JAVA, LIBRDKAFKA = "java", "librdkafka"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A broker or client host: `number` is the broker's id or the host's ordinal."""

    name: str
    address: str
    address6: str
    mac: str
    instance: str
    launched: datetime
    number: int
    service: str = "kafka"
    client: str = JAVA


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFleet:
    """`dead` are terminated instances whose addresses `reused` hosts have now, in the same order."""

    brokers: tuple[Node, ...]
    hosts: tuple[Node, ...]
    reused: tuple[Node, ...]
    dead: tuple[Node, ...]
    gateway_mac: str
    looks: tuple[datetime, ...]
    log_start: datetime
    log_end: datetime
    log_bytes: int

    def owner(self, host: Node, moment: datetime) -> Node:
        """Who had the address of `host` at that moment."""
        if host.launched <= moment or host not in self.reused:
            return host
        return self.dead[self.reused.index(host)]

    def dead_for(self, host: Node) -> Node:
        return self.dead[self.reused.index(host)]


def mac_address(random: Random, first: str = "0a") -> str:
    return ":".join([first, *(f"{random.randrange(256):02x}" for _ in range(5))])


def hex_id(random: Random, length: int = 17) -> str:
    return f"{random.getrandbits(length * 4):0{length}x}"


def _host(random: Random, number: int, launched: datetime) -> Node:
    third, fourth = 1 + number // 240, 10 + number % 240
    return Node(
        name=f"ip-10-4-{third}-{fourth}",
        address=f"10.4.{third}.{fourth}",
        address6=f"fd00:4:0:{third}::{fourth:x}",
        mac=mac_address(random),
        instance=f"i-0{hex_id(random, 16)}",
        launched=launched,
        number=number,
        service=SERVICES[number % len(SERVICES)],
        client=LIBRDKAFKA if number % 3 == 1 else JAVA,
    )


def _broker(random: Random, number: int, launched: datetime) -> Node:
    return Node(
        name=f"ip-10-4-0-{20 + number}",
        address=f"10.4.0.{20 + number}",
        address6=f"fd00:4::{20 + number:x}",
        mac=mac_address(random),
        instance=f"i-0{hex_id(random, 16)}",
        launched=launched,
        number=number,
    )


def _predecessor(random: Random, host: Node) -> Node:
    launched = host.launched - timedelta(days=random.randint(2, 20), seconds=random.randrange(80_000))
    return Node(
        name=host.name,
        address=host.address,
        address6=host.address6,
        mac=mac_address(random),
        instance=f"i-0{hex_id(random, 16)}",
        launched=launched,
        number=host.number,
        service=SERVICES[(host.number + 1) % len(SERVICES)],
    )


def dimensions(size: int) -> tuple[int, int, int]:
    """Hosts, brokers and looks for about so many bytes: 30, 5 and 2 for tests, 2,000, 30 and 24 for a gigabyte."""
    if size < 5_000_000:  # noqa: PLR2004 - below this a fleet of 2,000 hosts does not fit
        return 30, 5, 2
    return min(2000, size // 25_000), 30, 2 + size // 45_000_000


def _log_window(looks: tuple[datetime, ...], logs: str) -> tuple[datetime, datetime]:
    if logs == "before":
        return looks[0] - timedelta(minutes=45), looks[0] - timedelta(minutes=15)
    if logs == "after":
        return looks[-1] + timedelta(minutes=78), looks[-1] + timedelta(minutes=104)
    return looks[0] - timedelta(minutes=12), looks[-1] + timedelta(minutes=4)


def make_fleet(random: Random, size: int, *, reuse: timedelta, logs: str, more_looks: int = 1) -> HostFleet:
    """`reuse` is when, from the first look, the new instances got their addresses.

    `logs` are of the time "around" the looks, "before" or "after" them; if after, `reuse` counts from the last look.
    """
    hosts, brokers, looks = dimensions(size)
    first = FIRST_LOOK + timedelta(seconds=random.randrange(6 * 3600))
    old = first - timedelta(days=40)
    recycled = {random.randrange(2, hosts) for _ in range(3 + hosts // 25)}
    moments = tuple(first + n * BETWEEN_LOOKS for n in range(looks * more_looks))
    reused_at = reuse + (moments[-1] if logs == "after" else first)
    begin, end = _log_window(moments, logs)
    nodes = tuple(
        _host(random, n, reused_at + timedelta(seconds=n % 97))
        if n in recycled
        else _host(random, n, old + timedelta(minutes=random.randrange(40_000)))
        for n in range(hosts)
    )
    reused = tuple(nodes[n] for n in sorted(recycled))
    return HostFleet(
        brokers=tuple(_broker(random, n + 1, old) for n in range(brokers)),
        hosts=nodes,
        reused=reused,
        dead=tuple(_predecessor(random, host) for host in reused),
        gateway_mac=mac_address(random, "0e"),
        looks=moments,
        log_start=begin,
        log_end=end,
        log_bytes=max(90_000, size // 4, size - looks * LOOK_BYTES),
    )
