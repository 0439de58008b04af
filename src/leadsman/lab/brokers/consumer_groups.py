"""The coordinators of consumer groups, and names for groups that one broker coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, TypedDict

from leadsman.errors import LabError
from leadsman.lab.processes import netns_call
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from leadsman.lab.brokers.cluster import Broker, Cluster

OFFSETS_TOPIC = "__consumer_offsets"

CREATED_TIMEOUT = timedelta(seconds=60)
"""Brokers create the offsets topic when a first group looks up its coordinator: 1 s on an idle machine."""

REQUEST_SECONDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlacement:
    """Group ids by the name that was requested for them, their coordinator, and the replicas that would follow it."""

    coordinator: Broker
    next_coordinators: tuple[Broker, ...]
    groups: Mapping[str, str]


class Coordinators(TypedDict):
    """The replicas of each partition of the offsets topic, its leader first; and the controller."""

    replicas: list[tuple[int, list[int]]]
    controller: int


def place_groups(cluster: Cluster, names: Sequence[str], *, excluded: Collection[int] = ()) -> GroupPlacement:
    """Find a broker that leads partitions of the offsets topic, and names of groups that fall on these.

    The broker is none of those `excluded`, and in the ZooKeeper era not the controller: losing the controller is a
    failure of its own.
    """
    found = netns_call.call(cluster.plan.tools_namespace, fetch_coordinators, bootstrap=cluster.bootstrap)
    avoided = {*excluded, *([found["controller"]] if cluster.plan.has_zookeeper else [])}
    partition, replicas = next((number, ids) for number, ids in found["replicas"] if ids[0] not in avoided)
    by_id = {broker.id: broker for broker in cluster.brokers}
    first, *others = (by_id[number] for number in replicas)
    groups = {name: _group_id(partition, name, partition_count=len(found["replicas"])) for name in names}
    return GroupPlacement(coordinator=first, next_coordinators=tuple(others), groups=groups)


def fetch_coordinators(*, bootstrap: str) -> Coordinators:
    """Return the replicas of each partition of the offsets topic, its leader first, and the controller."""
    from confluent_kafka import Consumer

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "leadsman-lab", "log_level": 0})
    try:
        found = wait_for(
            lambda: _replicas(consumer),
            timeout=CREATED_TIMEOUT,
            what=f"{OFFSETS_TOPIC} to have leaders",
            error=LabError,
        )
    finally:
        consumer.close()
    assert found is not None  # or the wait had failed
    replicas, controller = found
    return {"replicas": sorted(replicas.items()), "controller": controller}


def _replicas(consumer: object) -> tuple[dict[int, list[int]], int] | None:
    """Return the replicas of the offsets topic's partitions and the controller; None until the topic has leaders."""
    from confluent_kafka import KafkaException, TopicPartition

    try:
        metadata = consumer.list_topics(timeout=REQUEST_SECONDS)  # type: ignore[attr-defined]
        if OFFSETS_TOPIC not in metadata.topics:
            consumer.committed([TopicPartition(OFFSETS_TOPIC, 0)], timeout=REQUEST_SECONDS)  # type: ignore[attr-defined]
            return None
    except KafkaException:
        return None
    replicas = {
        number: [each.leader, *(replica for replica in each.replicas if replica != each.leader)]
        for number, each in metadata.topics[OFFSETS_TOPIC].partitions.items()
    }
    has_leaders = replicas and all(leader >= 0 for leader, *_ in replicas.values())
    return (replicas, metadata.controller_id) if has_leaders else None


def _group_id(partition: int, name: str, *, partition_count: int) -> str:
    """Return the name, or the name with a number, so that this partition of the offsets topic holds the group."""
    candidates = (name, *(f"{name}-{number}" for number in range(2, 1000)))
    return next(each for each in candidates if coordinator_partition(each, partition_count) == partition)


def coordinator_partition(group: str, partitions: int) -> int:
    """Return the partition of the offsets topic whose leader coordinates a group: Java's hash of its name.

    Integer.MIN_VALUE, whose absolute value does not fit an int, counts as 0 (`Utils.abs`).
    """
    code = 0
    for letter in group:
        code = (31 * code + ord(letter)) & 0xFFFFFFFF
    signed = code - (1 << 32) if code & 0x80000000 else code
    return abs(signed) % (1 << 31) % partitions


def partition_leaders(cluster: Cluster, topic: str) -> dict[int, int]:
    """Return the leader of each partition, by the brokers' own metadata; -1: none. Empty where no broker answers."""
    alive = ",".join(broker.bootstrap for broker in cluster.brokers if broker.is_running)
    return dict(netns_call.call(cluster.plan.tools_namespace, fetch_leaders, bootstrap=alive, topic=topic))


def fetch_leaders(*, bootstrap: str, topic: str) -> list[tuple[int, int]]:
    """Return partitions with their leaders, from the calling process's network; see `partition_leaders`."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    try:
        metadata = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0}).list_topics(
            topic, timeout=REQUEST_SECONDS
        )
    except KafkaException:
        return []
    return [(number, partition.leader) for number, partition in metadata.topics[topic].partitions.items()]
