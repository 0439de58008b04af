"""Topics with their partitions, and the producer ids that leaders hold, as Kafka's tools print them."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any
from uuid import UUID

from leadsman.collect.collector import CouldNotBeHad
from leadsman.collect.kafka.connection import batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leadsman.collect.kafka.connection import Cluster

TOPICS_AT_ONCE = 200
"""Topics described together: with 50 partitions each, an answer of about a megabyte."""

PARTITIONS_AT_ONCE = 20
IDS_AT_ONCE = 200_000
"""Partitions asked together for their producers, as long as their answer holds about so many ids, 10 MB."""

HEADING = (
    "ProducerId\tProducerEpoch\tLatestCoordinatorEpoch\tLastSequence\tLastTimestamp\tCurrentTransactionStartOffset\t\n"
)

NO_LEADER = -1

Partition = tuple[str, int]


def named(cluster: Cluster, wanted: Sequence[str]) -> list[str]:
    """Return the topics that were asked for, or all."""
    return list(wanted) or sorted(cluster.ask(lambda admin: admin.list_topics()))


def described(cluster: Cluster, wanted: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield topics as the admin API describes them; CouldNotBeHad for one that is not there."""
    for some in batches(named(cluster, wanted), TOPICS_AT_ONCE):
        found = cluster.ask(lambda admin, names: admin.describe_topics(names), list(some))
        for topic in sorted(found, key=lambda each: str(each["name"])):
            if topic["error_code"] and not topic["partitions"]:
                raise CouldNotBeHad(f"Topic {topic['name']}: error {topic['error_code']}")
            yield topic


def topics(cluster: Cluster, wanted: Sequence[str]) -> Iterator[str]:
    """Yield what kafka-topics --describe prints, and the leader's epoch behind it."""
    for some in batches(named(cluster, wanted), TOPICS_AT_ONCE):
        configured = _configured(cluster, some)
        for topic in described(cluster, some):
            yield _topic_line(topic, configured.get(str(topic["name"]), {}))
            yield from (_partition_line(str(topic["name"]), each) for each in _in_order(topic))


def _configured(cluster: Cluster, some: Sequence[str]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return what is not Kafka's own default for these topics; nothing where we may not see it."""
    from kafka.admin import ConfigResource  # noqa: PLC0415 - loaded only where it is used

    wanted = [ConfigResource("topic", name) for name in some]
    try:
        found = cluster.ask(lambda admin: admin.describe_configs(wanted, config_filter="all"))
    except CouldNotBeHad:
        return {}
    return {
        topic: {key: each for key, each in told.items() if each["config_source"] != "DEFAULT_CONFIG"}
        for topic, told in found.get("topic", {}).items()
    }


def _topic_line(topic: dict[str, Any], configured: dict[str, dict[str, Any]]) -> str:
    partitions = topic["partitions"]
    replicas = len(partitions[0]["replica_nodes"]) if partitions else 0
    configs = ",".join(f"{key}={told['value']}" for key, told in sorted(configured.items()) if not told["is_sensitive"])
    identity = f"TopicId: {_short(topic['topic_id'])}\t" if topic.get("topic_id") else ""
    return (
        f"Topic: {topic['name']}\t{identity}PartitionCount: {len(partitions)}\tReplicationFactor: {replicas}\t"
        f"Configs: {configs}\n"
    )


def _short(identity: object) -> str:
    """Return a topic's id as Kafka writes it."""
    return base64.urlsafe_b64encode(UUID(str(identity)).bytes).decode().rstrip("=")


def _in_order(topic: dict[str, Any]) -> list[dict[str, Any]]:
    return sorted(topic["partitions"], key=lambda each: int(each["partition_index"]))


def _partition_line(topic: str, told: dict[str, Any]) -> str:
    leader = "none" if told["leader_id"] < 0 else told["leader_id"]
    replicas, isr = (",".join(map(str, told[key])) for key in ("replica_nodes", "isr_nodes"))
    epoch = f"\tLeaderEpoch: {told['leader_epoch']}" if told.get("leader_epoch", -1) >= 0 else ""
    place = f"\tTopic: {topic}\tPartition: {told['partition_index']}"
    return f"{place}\tLeader: {leader}\tReplicas: {replicas}\tIsr: {isr}{epoch}\n"


def producers(cluster: Cluster, wanted: Sequence[str]) -> Iterator[tuple[Partition, int, Iterator[str]]]:
    """Yield each partition, its leader, and what kafka-transactions describe-producers prints of it."""
    for partition, leader, told in held(cluster, wanted):
        yield partition, leader, _table(told)


def held(cluster: Cluster, wanted: Sequence[str]) -> Iterator[tuple[Partition, int, Any]]:
    """Yield each partition, its leader, and the producers that this one holds; a text says why they are not known.

    Partitions are asked together, leader by leader, and fewer at once where they hold many ids.
    """
    by_leader: dict[int, list[Partition]] = {}
    for topic in described(cluster, wanted):
        for each in _in_order(topic):
            by_leader.setdefault(int(each["leader_id"]), []).append((str(topic["name"]), int(each["partition_index"])))
    for partition in by_leader.pop(NO_LEADER, []):
        yield partition, NO_LEADER, "The partition has no leader"
    for leader in sorted(by_leader):
        yield from ((partition, leader, told) for partition, told in _of_leader(cluster, by_leader[leader]))


def _of_leader(cluster: Cluster, partitions: list[Partition]) -> Iterator[tuple[Partition, Any]]:
    size, at = PARTITIONS_AT_ONCE, 0
    while at < len(partitions):
        some = partitions[at : at + size]
        found = _asked(cluster, some)
        yield from ((each, found[each]) for each in some)
        at += len(some)
        most = max((len(told) for told in found.values() if not isinstance(told, str)), default=0)
        size = max(1, min(PARTITIONS_AT_ONCE, IDS_AT_ONCE // max(1, most)))


def _asked(cluster: Cluster, some: list[Partition]) -> dict[Partition, Any]:
    """Return the producers of these partitions, or why not: one partition that fails spoils the answer for all."""
    from kafka import TopicPartition  # noqa: PLC0415 - loaded only where it is used

    asked = [TopicPartition(*each) for each in some]
    try:
        found = cluster.ask(lambda admin: admin.describe_producers(asked))
    except CouldNotBeHad as error:
        if len(some) == 1:
            return {some[0]: str(error)}
        half = len(some) // 2
        return _asked(cluster, some[:half]) | _asked(cluster, some[half:])
    return {(each.topic, each.partition): found[each].active_producers for each in asked}


def _table(told: Any) -> Iterator[str]:  # noqa: ANN401 - the library has no types
    if isinstance(told, str):
        raise CouldNotBeHad(told)
    yield HEADING
    for each in told:
        offset = each.current_transaction_start_offset
        yield (
            f"{each.producer_id}\t{each.producer_epoch}\t{each.coordinator_epoch}\t{each.last_sequence}\t"
            f"{each.last_timestamp}\t{'None' if offset < 0 else offset}\t\n"
        )
