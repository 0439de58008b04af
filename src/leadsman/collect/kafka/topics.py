"""Topics with their partitions, and the active producers of partitions, as Kafka's tools print them."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any
from uuid import UUID

from leadsman.collect.collector import NotCollected
from leadsman.collect.kafka.connection import batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leadsman.collect.kafka.connection import ClusterAdmin

TOPICS_PER_REQUEST = 200
"""Topics described in one request: with 50 partitions each, the response has about a megabyte."""

PARTITIONS_PER_REQUEST = 20
PRODUCER_IDS_PER_REQUEST = 200_000
"""Partitions in one request for producers, fewer where the response would exceed this many ids, about 10 MB."""

HEADING = (
    "ProducerId\tProducerEpoch\tLatestCoordinatorEpoch\tLastSequence\tLastTimestamp\tCurrentTransactionStartOffset\t\n"
)

NO_LEADER = -1

Partition = tuple[str, int]


def topic_names(cluster: ClusterAdmin, topic_filter: Sequence[str]) -> list[str]:
    """Return the selected topics, or all."""
    return list(topic_filter) or sorted(cluster.request(lambda admin: admin.list_topics()))


def describe_topics(cluster: ClusterAdmin, topic_filter: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield topics as the admin API describes them; NotCollected for a topic that does not exist."""
    for some in batches(topic_names(cluster, topic_filter), TOPICS_PER_REQUEST):
        response = cluster.request(lambda admin, names: admin.describe_topics(names), list(some))
        for topic in sorted(response, key=lambda each: str(each["name"])):
            if topic["error_code"] and not topic["partitions"]:
                raise NotCollected(f"Topic {topic['name']}: error {topic['error_code']}")
            yield topic


def topic_lines(cluster: ClusterAdmin, topic_filter: Sequence[str]) -> Iterator[str]:
    """Yield the lines of kafka-topics --describe, with the leader's epoch at the end."""
    for some in batches(topic_names(cluster, topic_filter), TOPICS_PER_REQUEST):
        configured = _topic_configs(cluster, some)
        for topic in describe_topics(cluster, some):
            yield _topic_line(topic, configured.get(str(topic["name"]), {}))
            yield from (_partition_line(str(topic["name"]), each) for each in _sorted_partitions(topic))


def _topic_configs(cluster: ClusterAdmin, some: Sequence[str]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the settings of these topics that differ from Kafka's defaults; nothing without authorization."""
    from kafka.admin import ConfigResource  # loaded only where it is used

    resources = [ConfigResource("topic", name) for name in some]
    try:
        response = cluster.request(lambda admin: admin.describe_configs(resources, config_filter="all"))
    except NotCollected:
        return {}
    return {
        topic: {key: each for key, each in description.items() if each["config_source"] != "DEFAULT_CONFIG"}
        for topic, description in response.get("topic", {}).items()
    }


def _topic_line(topic: dict[str, Any], configured: dict[str, dict[str, Any]]) -> str:
    partitions = topic["partitions"]
    replicas = len(partitions[0]["replica_nodes"]) if partitions else 0
    configs = ",".join(
        f"{key}={description['value']}"
        for key, description in sorted(configured.items())
        if not description["is_sensitive"]
    )
    identity = f"TopicId: {_kafka_uuid(topic['topic_id'])}\t" if topic.get("topic_id") else ""
    return (
        f"Topic: {topic['name']}\t{identity}PartitionCount: {len(partitions)}\tReplicationFactor: {replicas}\t"
        f"Configs: {configs}\n"
    )


def _kafka_uuid(identity: object) -> str:
    """Return a topic's id as Kafka prints it."""
    return base64.urlsafe_b64encode(UUID(str(identity)).bytes).decode().rstrip("=")


def _sorted_partitions(topic: dict[str, Any]) -> list[dict[str, Any]]:
    return sorted(topic["partitions"], key=lambda each: int(each["partition_index"]))


def _partition_line(topic: str, description: dict[str, Any]) -> str:
    leader = "none" if description["leader_id"] < 0 else description["leader_id"]
    replicas, isr = (",".join(map(str, description[key])) for key in ("replica_nodes", "isr_nodes"))
    epoch = f"\tLeaderEpoch: {description['leader_epoch']}" if description.get("leader_epoch", -1) >= 0 else ""
    partition_columns = f"\tTopic: {topic}\tPartition: {description['partition_index']}"
    return f"{partition_columns}\tLeader: {leader}\tReplicas: {replicas}\tIsr: {isr}{epoch}\n"


def producer_tables(
    cluster: ClusterAdmin, topic_filter: Sequence[str]
) -> Iterator[tuple[Partition, int, Iterator[str]]]:
    """Yield each partition, its leader, and the lines of kafka-transactions describe-producers."""
    for partition, leader, description in producers_by_partition(cluster, topic_filter):
        yield partition, leader, _table(description)


def producers_by_partition(cluster: ClusterAdmin, topic_filter: Sequence[str]) -> Iterator[tuple[Partition, int, Any]]:
    """Yield each partition, its leader, and the active producers; a text instead of producers is the reason.

    Partitions are requested together, leader by leader, and fewer at once where they have many ids.
    """
    by_leader: dict[int, list[Partition]] = {}
    for topic in describe_topics(cluster, topic_filter):
        for each in _sorted_partitions(topic):
            by_leader.setdefault(int(each["leader_id"]), []).append((str(topic["name"]), int(each["partition_index"])))
    for partition in by_leader.pop(NO_LEADER, []):
        yield partition, NO_LEADER, "The partition has no leader"
    for leader in sorted(by_leader):
        yield from (
            (partition, leader, description)
            for partition, description in _producers_of_leader(cluster, by_leader[leader])
        )


def _producers_of_leader(cluster: ClusterAdmin, partitions: list[Partition]) -> Iterator[tuple[Partition, Any]]:
    size, at = PARTITIONS_PER_REQUEST, 0
    while at < len(partitions):
        some = partitions[at : at + size]
        response = _describe_producers(cluster, some)
        yield from ((each, response[each]) for each in some)
        at += len(some)
        most = max(
            (len(description) for description in response.values() if not isinstance(description, str)), default=0
        )
        size = max(1, min(PARTITIONS_PER_REQUEST, PRODUCER_IDS_PER_REQUEST // max(1, most)))


def _describe_producers(cluster: ClusterAdmin, partitions: Sequence[Partition]) -> dict[Partition, Any]:
    """Return the producers of these partitions, or the reason as a text."""
    producers, reasons = cluster.request_halving(_request_producers, partitions)
    return producers | reasons


def _request_producers(admin: Any, partitions: Sequence[Partition]) -> dict[Partition, Any]:  # noqa: ANN401 - the library has no types
    from kafka import TopicPartition  # loaded only where it is used

    response = admin.describe_producers([TopicPartition(*each) for each in partitions])
    return {each: response[TopicPartition(*each)].active_producers for each in partitions}


def _table(description: Any) -> Iterator[str]:  # noqa: ANN401 - the library has no types
    if isinstance(description, str):
        raise NotCollected(description)
    yield HEADING
    for each in description:
        offset = each.current_transaction_start_offset
        yield (
            f"{each.producer_id}\t{each.producer_epoch}\t{each.coordinator_epoch}\t{each.last_sequence}\t"
            f"{each.last_timestamp}\t{'None' if offset < 0 else offset}\t\n"
        )
