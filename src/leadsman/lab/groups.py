"""Which broker coordinates which consumer group, and names for groups that one broker coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, TypedDict

from leadsman.errors import LabError
from leadsman.lab import errand
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from leadsman.lab.cluster import Broker, Cluster

OFFSETS = "__consumer_offsets"

MADE_WITHIN = timedelta(seconds=60)
"""Brokers make the topic of offsets when a first group asks for its coordinator: 1 s quiet."""

ASK_SECONDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Groups by the name that was wanted for them, the broker that coordinates them all, and who would do so next."""

    broker: Broker
    next: tuple[Broker, ...]
    groups: Mapping[str, str]


class Coordinators(TypedDict):
    """Who holds each partition of the offsets topic, its leader first; and the controller."""

    replicas: list[tuple[int, list[int]]]
    controller: int


def place(cluster: Cluster, names: Sequence[str], *, spared: Collection[int] = ()) -> Placed:
    """Find a broker that leads partitions of the offsets topic, and names of groups that fall on these.

    It is none of those `spared`, and in the ZooKeeper era not the controller: the loss of that one is its own story.
    """
    told = errand.run(cluster.plan.tools, coordinators, bootstrap=cluster.bootstrap)
    avoided = {*spared, *([told["controller"]] if cluster.plan.with_zookeeper else [])}
    partition, replicas = next((number, held) for number, held in told["replicas"] if held[0] not in avoided)
    by_id = {broker.id: broker for broker in cluster.brokers}
    first, *others = (by_id[number] for number in replicas)
    groups = {name: _falling_on(partition, name, of=len(told["replicas"])) for name in names}
    return Placed(broker=first, next=tuple(others), groups=groups)


def coordinators(*, bootstrap: str) -> Coordinators:
    """Return who holds each partition of the offsets topic, its leader first, and who is the controller."""
    from confluent_kafka import Consumer  # noqa: PLC0415 (the lab's extra)

    asking = Consumer({"bootstrap.servers": bootstrap, "group.id": "leadsman-lab", "log_level": 0})
    try:
        told = wait_for(
            lambda: _replicas(asking), within=MADE_WITHIN, what=f"{OFFSETS} to have leaders", error=LabError
        )
    finally:
        asking.close()
    assert told is not None  # or the wait had failed
    replicas, controller = told
    return {"replicas": [(number, held) for number, held in sorted(replicas.items())], "controller": controller}


def _replicas(asking: object) -> tuple[dict[int, list[int]], int] | None:
    """Return who holds each partition of the offsets topic, its leader first, and the controller; None until it is."""
    from confluent_kafka import KafkaException, TopicPartition  # noqa: PLC0415 (the lab's extra)

    try:
        told = asking.list_topics(timeout=ASK_SECONDS)  # type: ignore[attr-defined]
        if OFFSETS not in told.topics:
            asking.committed([TopicPartition(OFFSETS, 0)], timeout=ASK_SECONDS)  # type: ignore[attr-defined]
            return None
    except KafkaException:
        return None
    held = {
        number: [each.leader, *(replica for replica in each.replicas if replica != each.leader)]
        for number, each in told.topics[OFFSETS].partitions.items()
    }
    return (held, told.controller_id) if held and all(leader >= 0 for leader, *_ in held.values()) else None


def _falling_on(partition: int, name: str, *, of: int) -> str:
    candidates = (name, *(f"{name}-{number}" for number in range(2, 1000)))
    return next(each for each in candidates if coordinator_partition(each, of) == partition)


def coordinator_partition(group: str, partitions: int) -> int:
    """Return the partition of the offsets topic whose leader coordinates a group: Java's hash of its name.

    The one number whose absolute value Java cannot hold counts as 0 (`Utils.abs`).
    """
    code = 0
    for letter in group:
        code = (31 * code + ord(letter)) & 0xFFFFFFFF
    signed = code - (1 << 32) if code & 0x80000000 else code
    return abs(signed) % (1 << 31) % partitions


def leaders(cluster: Cluster, topic: str) -> dict[int, int]:
    """Return who leads each partition, by the brokers' own metadata; -1: nobody. Empty where no broker answers."""
    alive = ",".join(broker.bootstrap for broker in cluster.brokers if broker.running)
    return dict(errand.run(cluster.plan.tools, leading, bootstrap=alive, topic=topic))


def leading(*, bootstrap: str, topic: str) -> list[tuple[int, int]]:
    """Return partitions with their leaders, asked from here; see `leaders`."""
    from confluent_kafka import KafkaException  # noqa: PLC0415 (the lab's extra)
    from confluent_kafka.admin import AdminClient  # noqa: PLC0415 (the same)

    try:
        told = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0}).list_topics(topic, timeout=ASK_SECONDS)
    except KafkaException:
        return []
    return [(number, partition.leader) for number, partition in told.topics[topic].partitions.items()]
