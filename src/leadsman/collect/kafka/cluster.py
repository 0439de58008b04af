"""Brokers, the quorum, configurations and log directories, as Kafka's tools print them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from leadsman.collect.collector import CouldNotBeHad
from leadsman.collect.kafka.connection import batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.collect.kafka.connection import Cluster

BROKERS_AT_ONCE = 10
"""Brokers whose configuration is asked for together; each answer has 300 settings."""


def brokers(cluster: Cluster) -> Iterator[str]:
    """Yield a line a broker, like kafka-broker-api-versions, with its version and who is the controller (ZooKeeper)."""
    described = cluster.described()
    quorum = _has_quorum(cluster)
    for broker in sorted(described["brokers"], key=lambda each: int(each["broker_id"])):
        node = broker["broker_id"]
        fields = [f"id: {node}", f"rack: {broker['rack'] or 'null'}"]
        if broker.get("is_fenced") is not None:
            fields.append(f"isFenced: {str(broker['is_fenced']).lower()}")
        if not quorum:  # with a quorum, this names any broker
            fields.append(f"controller: {str(node == described['controller_id']).lower()}")
        fields += _version(cluster, node)
        yield f"{broker['host']}:{broker['port']} ({' '.join(fields)}) -> (\n)\n"


def _has_quorum(cluster: Cluster) -> bool:
    try:
        cluster.ask(lambda admin: admin.describe_metadata_quorum())
    except CouldNotBeHad as error:
        return "Authorization" in str(error)  # it is there, and not for us
    return True


def _version(cluster: Cluster, node: int) -> list[str]:
    """Return the broker's version as its API tells it: to the minor release, which is what differs."""
    try:
        version = cluster.ask(lambda admin: admin.get_broker_version_data(node).broker_version)
    except CouldNotBeHad:
        return []
    return [f"version: {'.'.join(map(str, version))}"]


def quorum(cluster: Cluster) -> Iterator[str]:
    """Yield what kafka-metadata-quorum says of the controllers, and the cluster's id."""
    described = cluster.described()
    yield f"ClusterId:              {described['cluster_id']}\n"
    told = cluster.ask(lambda admin: admin.describe_metadata_quorum())
    partition = told["topics"][0]["partitions"][0]
    yield f"LeaderId:               {partition['leader_id']}\n"
    yield f"LeaderEpoch:            {partition['leader_epoch']}\n"
    yield f"HighWatermark:          {partition['high_watermark']}\n"
    for kind in ("current_voters", "observers"):
        ids = [each["replica_id"] for each in partition[kind]]
        yield f"{'CurrentVoters:' if kind == 'current_voters' else 'CurrentObservers:':<24}{ids}\n"


def broker_configs(cluster: Cluster) -> Iterator[str]:
    """Yield every broker's settings with where they come from, like kafka-configs --describe --all."""
    from kafka.admin import ConfigResource  # noqa: PLC0415 - loaded only where it is used

    nodes = cluster.brokers()
    for some in batches(nodes, BROKERS_AT_ONCE):
        wanted = [ConfigResource("broker", str(node)) for node in some]
        found = cluster.ask(_all_settings, wanted)
        for node in some:
            yield f"All configs for broker {node} are:\n"
            yield from map(config_line, sorted(found["broker"].get(str(node), {}).items()))


def _all_settings(admin: Any, wanted: list[object]) -> Any:  # noqa: ANN401 - the library has no types
    return admin.describe_configs(wanted, include_synonyms=True, config_filter="all")


def config_line(named: tuple[str, dict[str, Any]]) -> str:
    """Return one setting as kafka-configs prints it. The broker itself sends no value of a secret."""
    key, told = named
    secret = told["is_sensitive"]
    synonyms = ", ".join(
        f"{each['source']}:{each['name']}={_plain(None if secret else each['value'])}"
        for each in told.get("synonyms") or ()
    )
    value = _plain(None if secret else told["value"])
    return f"  {key}={value} sensitive={str(secret).lower()} synonyms={{{synonyms}}}\n"


def _plain(value: str | None) -> str:
    return "null" if value is None else " ".join(value.split("\n"))


def log_dirs(cluster: Cluster) -> Iterator[str]:
    """Yield the sizes of all partitions on all brokers' disks, like kafka-log-dirs: one line of JSON a broker."""
    nodes = cluster.brokers()
    yield "Querying brokers for log directories information\n"
    told = []
    for node in nodes:
        (answer,) = cluster.ask(lambda admin, node: admin.describe_log_dirs(brokers=[node]), node)
        told.append({"broker": node, "logDirs": [_folder(each) for each in answer["log_dirs"]]})
    yield f"Received log directory information from brokers {','.join(map(str, nodes))}\n"
    yield json.dumps({"brokers": told, "version": 1}, separators=(",", ":")) + "\n"


def _folder(told: dict[str, Any]) -> dict[str, Any]:
    partitions = [
        {
            "partition": f"{topic['name']}-{each['partition_index']}",
            "size": each["partition_size"],
            "offsetLag": each["offset_lag"],
            "isFuture": each["is_future_key"],
        }
        for topic in told["topics"]
        for each in topic["partitions"]
    ]
    error = f"error {told['error_code']}" if told["error_code"] else None
    return {"partitions": partitions, "error": error, "logDir": told["log_dir"]}
