"""Snapshots as Kafka's command-line tools and the clouds' own print them."""

# ruff: noqa: E501 - a line of a log stays one line here
from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bench.production.clusters_timeline import clock, stamp, zulu
from bench.production.clusters_world import OFFSETS_TOPIC, Topic, uuid36

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path
    from random import Random

    from bench.production.clusters_world import ConsumerService, SyntheticCluster


def all_well(topic: Topic, number: int, replicas: tuple[int, ...]) -> tuple[int | None, tuple[int, ...]]:
    """Leader and in-sync replicas of a partition in a cluster that is well."""
    del topic, number
    return replicas[0], replicas


def without(*gone: int) -> Callable[[Topic, int, tuple[int, ...]], tuple[int | None, tuple[int, ...]]]:
    """Brokers are away and their leaders moved on."""

    def view(topic: Topic, number: int, replicas: tuple[int, ...]) -> tuple[int | None, tuple[int, ...]]:
        del topic, number
        left = tuple(r for r in replicas if r not in gone)
        return (left[0] if left else None), left

    return view


def unreachable(gone: int) -> Callable[[Topic, int, tuple[int, ...]], tuple[int | None, tuple[int, ...]]]:
    """The broker still leads what it led; other leaders dropped it from their in-sync replicas."""

    def view(topic: Topic, number: int, replicas: tuple[int, ...]) -> tuple[int | None, tuple[int, ...]]:
        del topic, number
        return replicas[0], replicas if replicas[0] == gone else tuple(r for r in replicas if r != gone)

    return view


def leaderless(gone: int) -> Callable[[Topic, int, tuple[int, ...]], tuple[int | None, tuple[int, ...]]]:
    """The broker shrank the in-sync replicas to itself before it went, so nobody may lead its partitions."""

    def view(topic: Topic, number: int, replicas: tuple[int, ...]) -> tuple[int | None, tuple[int, ...]]:
        del topic, number
        if replicas[0] == gone:
            return None, (gone,)
        return replicas[0], tuple(r for r in replicas if r != gone)

    return view


def topics_text(
    cluster: SyntheticCluster, view: Callable[[Topic, int, tuple[int, ...]], tuple[int | None, tuple[int, ...]]]
) -> Iterator[str]:
    for topic in cluster.topics:
        configs = "min.insync.replicas=2,segment.bytes=1073741824"
        if topic.name == OFFSETS_TOPIC:
            configs = "compression.type=producer,min.insync.replicas=2,cleanup.policy=compact,segment.bytes=104857600"
        yield f"Topic: {topic.name}\tTopicId: {topic.topic_id}\tPartitionCount: {len(topic.partitions)}\tReplicationFactor: 3\tConfigs: {configs}\n"
        for number, replicas in enumerate(topic.partitions):
            leader, isr = view(topic, number, replicas)
            tail = "" if cluster.zookeeper else "\tElr: \tLastKnownElr: "
            yield (
                f"\tTopic: {topic.name}\tPartition: {number}\tLeader: {'none' if leader is None else leader}\t"
                f"Replicas: {','.join(map(str, replicas))}\tIsr: {','.join(map(str, isr))}{tail}\n"
            )


def write_topics(
    folder: Path,
    cluster: SyntheticCluster,
    *,
    at: float,
    view: Callable[[Topic, int, tuple[int, ...]], tuple[int | None, tuple[int, ...]]],
) -> None:
    write(folder / "snapshots" / f"{stamp(at)}.kafka-topics-describe.txt", topics_text(cluster, view))


def write_groups(
    folder: Path,
    cluster: SyntheticCluster,
    random: Random,
    *,
    at: float,
    dead: Collection[str] = (),
    slow: Collection[str] = (),
    lagging: float = 0.0,
) -> None:
    """`kafka-consumer-groups --describe --all-groups`; `lagging` seconds of records wait before the dead groups."""
    rows = (
        line
        for service in cluster.services
        for line in _group(cluster, random, service=service, at=at, dead=dead, slow=(*dead, *slow), lagging=lagging)
    )
    write(folder / "snapshots" / f"{stamp(at)}.kafka-consumer-groups-describe.txt", rows)
    states = (line for service in cluster.services for line in _state(cluster, service, dead))
    write(folder / "snapshots" / f"{stamp(at)}.kafka-consumer-groups-state.txt", states)


def _group(
    cluster: SyntheticCluster,
    random: Random,
    *,
    service: ConsumerService,
    at: float,
    dead: Collection[str],
    slow: Collection[str],
    lagging: float,
) -> Iterator[str]:
    gone = service.group in dead
    if gone:
        yield f"\nConsumer group '{service.group}' has no active members.\n"
    wide, topic = len(service.group), len(service.topic)
    form = f"%-{wide}s %-{topic}s %-10s %-15s %-15s %-15s %-{len(service.group) + 48}s %-15s %s\n"
    yield "\n" + form % (
        "GROUP",
        "TOPIC",
        "PARTITION",
        "CURRENT-OFFSET",
        "LOG-END-OFFSET",
        "LAG",
        "CONSUMER-ID",
        "HOST",
        "CLIENT-ID",
    )
    member, client = f"consumer-{service.group}-1-{uuid36(random)}", f"consumer-{service.group}-1"
    for number in range(len(cluster.topic(service.topic).partitions)):
        lag = int(lagging * random.uniform(30, 34)) if service.group in slow else random.randint(0, 40)
        ended = int(at * 33) % 900_000_000 + number * 17
        who = ("-", "-", "-") if gone else (member, f"/10.42.0.{number + 7}", client)
        yield form % (service.group, service.topic, number, ended - lag, ended, lag, *who)


def _state(cluster: SyntheticCluster, service: ConsumerService, dead: Collection[str]) -> Iterator[str]:
    at = cluster.coordinator(service.group)
    where = f"{cluster.host(at)}:9092  ({at})"
    form = f"%-{max(25, len(service.group))}s %-{max(25, len(where))}s %-20s %-15s %s\n"
    gone = service.group in dead
    yield "\n" + form % ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS")
    yield form % (
        service.group,
        where,
        "" if gone else "range",
        "Empty" if gone else "Stable",
        0 if gone else len(service.pods),
    )


def write_quorum(folder: Path, cluster: SyntheticCluster, *, at: float, leader: int = 3001, epoch: int = 41) -> None:
    voters = ", ".join(
        f'{{"id": {n}, "endpoints": ["CONTROLLER://controller-{n}.{cluster.name}.example.net:9093"]}}'
        for n in cluster.controllers
    )
    observers = ", ".join(f'{{"id": {n}}}' for n in cluster.brokers)
    rows = (
        f"ClusterId:              {cluster.cluster_id}\n",
        f"LeaderId:               {leader}\n",
        f"LeaderEpoch:            {epoch}\n",
        f"HighWatermark:          {int(at) % 100_000_000}\n",
        "MaxFollowerLag:         0\n",
        "MaxFollowerLagTimeMs:   412\n",
        f"CurrentVoters:          [{voters}]\n",
        f"CurrentObservers:       [{observers}]\n",
    )
    write(folder / "snapshots" / f"{stamp(at)}.kafka-metadata-quorum-describe-status.txt", rows)


def write_gce_migration(folder: Path, cluster: SyntheticCluster, *, broker: int, at: float, seconds: float) -> None:
    """`gcloud compute operations list --format=json`."""
    row = {
        "kind": "compute#operation",
        "name": f"systemevent-{int(at * 1000)}-6243a1-{broker}",
        "operationType": "compute.instances.migrateOnHostMaintenance",
        "targetLink": f"https://www.googleapis.com/compute/v1/projects/example-prod/zones/europe-west4-b/instances/kafka-{broker}-{cluster.name}",
        "status": "DONE",
        "statusMessage": "Instance migrated during Compute Engine maintenance.",
        "user": "system",
        "progress": 100,
        "insertTime": zulu(at - 2),
        "startTime": zulu(at - 2),
        "endTime": zulu(at + seconds),
    }
    write(folder / "cloud" / "gcloud-compute-operations-list.json", (json.dumps([row], indent=2), "\n"))


def write_ec2_status(folder: Path, *, at: float, instance: str) -> None:
    """`aws ec2 describe-instance-status`."""
    event = {
        "InstanceEventId": "instance-event-0d59937288b749b32",
        "Code": "system-maintenance",
        "Description": "[Completed] The instance is scheduled for network maintenance",
        "NotBefore": clock(at - 300, comma=".", middle="T") + "+00:00",
        "NotAfter": clock(at + 3600, comma=".", middle="T") + "+00:00",
    }
    row: dict[str, object] = {"AvailabilityZone": "eu-west-1b", "Events": [event], "InstanceId": instance}
    row |= {"InstanceState": {"Code": 16, "Name": "running"}}
    row |= {"SystemStatus": {"Details": [{"Name": "reachability", "Status": "passed"}], "Status": "ok"}}
    text = json.dumps({"InstanceStatuses": [row]}, indent=4)
    write(folder / "cloud" / "aws-ec2-describe-instance-status.json", (text, "\n"))


def write(path: Path, rows: Collection[str] | Iterator[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as out:
        out.writelines(rows)
