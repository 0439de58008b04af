"""Kafka clusters that never were: brokers, topics, groups and the services that read them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bench.production.case import CaptureSize

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

OFFSETS_TOPIC = "__consumer_offsets"
OFFSETS_PARTITIONS = 50  # offsets.topic.num.partitions
MAX_COORDINATORS = 2147483647  # a consumer names the connection to its coordinator Integer.MAX_VALUE - id
HOUR = 3600.0

TOPICS = (
    "orders.placed",
    "payments.settled",
    "ledger.postings",
    "stock.moves",
    "quotes.eu",
    "parcels.scanned",
    "clicks",
    "audit.trail",
    "invoices.issued",
    "devices.telemetry",
)
SERVICES = (
    "order-router",
    "payment-sink",
    "ledger-poster",
    "stock-keeper",
    "quote-cache",
    "parcel-tracker",
    "click-counter",
    "audit-writer",
    "invoice-mailer",
    "device-gateway",
    "refund-desk",
    "loyalty-points",
    "tax-report",
    "search-feeder",
    "price-watch",
    "fraud-score",
    "shipment-eta",
    "voucher-desk",
    "returns-intake",
    "crm-bridge",
)
CLIENTS = ("java", "streams", "java", "librdkafka", "java", "streams28", "kafka_python", "java", "aiokafka", "java")
LAYOUTS = ("spring", "plain", "json", "docker")


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """`partitions` are the replicas of each partition; the first is the preferred leader."""

    name: str
    topic_id: str
    partitions: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerService:
    """A program that reads one topic as one group, on some pods.

    `streams` is Kafka Streams 2.4, whose threads die of a commit that times out; `streams28` retries it.
    """

    name: str
    group: str
    topic: str
    client: str
    layout: str
    pods: tuple[str, ...]
    zone_hours: float = 0.0

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(f"apps/{self.name}/{pod}.log" for pod in self.pods)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticCluster:
    """`start` and `seconds` are the time that the capture covers, in seconds since 1970."""

    name: str
    cluster_id: str
    brokers: tuple[int, ...]
    controllers: tuple[int, ...]
    topics: tuple[Topic, ...]
    services: tuple[ConsumerService, ...]
    start: float
    seconds: float
    zookeeper: bool = False

    @property
    def end(self) -> float:
        return self.start + self.seconds

    def host(self, broker: int) -> str:
        return f"kafka-{broker}.{self.name}.example.net"

    def replicas(self) -> Iterator[tuple[Topic, int, tuple[int, ...]]]:
        for topic in self.topics:
            for number, replicas in enumerate(topic.partitions):
                yield topic, number, replicas

    def led_by(self, broker: int) -> list[tuple[Topic, int, tuple[int, ...]]]:
        return [(t, p, r) for t, p, r in self.replicas() if r[0] == broker]

    def topic(self, name: str) -> Topic:
        return next(topic for topic in self.topics if topic.name == name)

    def coordinator(self, group: str) -> int:
        return self.topic(OFFSETS_TOPIC).partitions[offsets_partition(group)][0]


def java_hash(text: str) -> int:
    value = 0
    for letter in text:
        value = (31 * value + ord(letter)) & 0xFFFFFFFF
    return value - (1 << 32) if value & (1 << 31) else value


def offsets_partition(group: str) -> int:
    """Where the coordinator of a group lives: Utils.abs(groupId.hashCode) % partitions."""
    return (java_hash(group) & 0x7FFFFFFF) % OFFSETS_PARTITIONS


def uuid22(random: Random) -> str:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return "".join(random.choice(letters) for _ in range(21)) + random.choice("AQgw")


def uuid36(random: Random) -> str:
    digits = f"{random.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def make_cluster(
    random: Random,
    size: int,
    *,
    name: str,
    start: float,
    busy_broker: int | None = None,
    brokers: int | None = None,
    zookeeper: bool = False,
) -> SyntheticCluster:
    """A cluster as large as `size` asks for. A third of the groups have their coordinator on `busy_broker`."""
    count = brokers or (7 if size < CaptureSize.MEDIUM else 30)
    ids = tuple(range(1, count + 1))
    topics = _topics(random, ids, width=4 if size < CaptureSize.MEDIUM else 24)
    cluster = SyntheticCluster(
        name=name,
        cluster_id=uuid22(random),
        brokers=ids,
        controllers=() if zookeeper else (3001, 3002, 3003),
        topics=topics,
        services=(),
        start=start,
        seconds=HOUR * (2.5 if size < CaptureSize.MEDIUM else 14 if size < CaptureSize.LARGE else 48),
        zookeeper=zookeeper,
    )
    return replace(cluster, services=tuple(_services(cluster, random, size=size, busy_broker=busy_broker)))


def _topics(random: Random, ids: tuple[int, ...], *, width: int) -> tuple[Topic, ...]:
    names = [(name, width) for name in TOPICS] + [(OFFSETS_TOPIC, OFFSETS_PARTITIONS)]
    return tuple(_topic(random, ids, name=name, width=wide) for name, wide in names)


def _topic(random: Random, ids: tuple[int, ...], *, name: str, width: int) -> Topic:
    first = random.randrange(len(ids))
    rows = tuple(tuple(ids[(first + p + r) % len(ids)] for r in range(3)) for p in range(width))
    return Topic(name=name, topic_id=uuid22(random), partitions=rows)


def _services(
    cluster: SyntheticCluster, random: Random, *, size: int, busy_broker: int | None
) -> Iterator[ConsumerService]:
    count, pods = (11, 2) if size < CaptureSize.MEDIUM else (30, 3) if size < CaptureSize.LARGE else (60, 4)
    for number in range(count):
        base = SERVICES[number % len(SERVICES)]
        name = base if number < len(SERVICES) else f"{base}-{number // len(SERVICES) + 1}"
        client = CLIENTS[number % len(CLIENTS)]
        hit = busy_broker is not None and number % 3 != 2  # noqa: PLR2004 - two in three, so that few services suffice
        hit = hit and number < max(8, count // 3)
        yield ConsumerService(
            name=name,
            group=_group(cluster, name, random=random, broker=busy_broker if hit else None, other=busy_broker),
            topic=TOPICS[number % len(TOPICS)],
            client=client,
            layout="python" if client in ("kafka_python", "aiokafka") else LAYOUTS[number % len(LAYOUTS)],
            pods=tuple(_pod(random, name) for _ in range(pods)),
        )


def _group(cluster: SyntheticCluster, name: str, *, random: Random, broker: int | None, other: int | None) -> str:
    """A group's name whose coordinator is `broker`, or, where that is None, any broker but `other`."""
    for _ in range(4000):
        group = f"{name}-{random.choice(('prod', 'live', 'eu', 'blue', 'green', 'main'))}-v{random.randint(1, 99)}"
        at = cluster.coordinator(group)
        if at == broker or (broker is None and at != other):
            return group
    return name


def _pod(random: Random, name: str) -> str:
    letters = "bcdfghjklmnpqrstvwxz2456789"
    tail = "".join(random.choice(letters) for _ in range(5))
    return f"{name}-{random.getrandbits(36):09x}-{tail}"
