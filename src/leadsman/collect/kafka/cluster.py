"""Brokers, the quorum, configurations and log directories, as Kafka's tools print them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from leadsman.collect.collector import NotCollected

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.collect.kafka.connection import ClusterAdmin


def broker_lines(cluster: ClusterAdmin) -> Iterator[str]:
    """Yield a line for each broker, like kafka-broker-api-versions, with its version and the controller (ZooKeeper)."""
    described = cluster.describe()
    has_quorum = _has_quorum(cluster)
    for broker in sorted(described["brokers"], key=lambda each: int(each["broker_id"])):
        node = broker["broker_id"]
        fields = [f"id: {node}", f"rack: {broker['rack'] or 'null'}"]
        if broker.get("is_fenced") is not None:
            fields.append(f"isFenced: {str(broker['is_fenced']).lower()}")
        if not has_quorum:  # with a quorum, this names any broker
            fields.append(f"controller: {str(node == described['controller_id']).lower()}")
        fields += _broker_version(cluster, node)
        yield f"{broker['host']}:{broker['port']} ({' '.join(fields)}) -> (\n)\n"


def _has_quorum(cluster: ClusterAdmin) -> bool:
    try:
        cluster.request(lambda admin: admin.describe_metadata_quorum())
    except NotCollected as error:
        return "Authorization" in str(error)  # the quorum exists, but the client may not see it
    return True


def _broker_version(cluster: ClusterAdmin, node: int) -> list[str]:
    """Return the broker's version as its API reports it: major and minor release."""
    try:
        version = cluster.request(lambda admin: admin.get_broker_version_data(node).broker_version)
    except NotCollected:
        return []
    return [f"version: {'.'.join(map(str, version))}"]


def quorum_lines(cluster: ClusterAdmin) -> Iterator[str]:
    """Yield the lines of kafka-metadata-quorum, with the cluster's id."""
    described = cluster.describe()
    yield f"ClusterId:              {described['cluster_id']}\n"
    description = cluster.request(lambda admin: admin.describe_metadata_quorum())
    partition = description["topics"][0]["partitions"][0]
    yield f"LeaderId:               {partition['leader_id']}\n"
    yield f"LeaderEpoch:            {partition['leader_epoch']}\n"
    yield f"HighWatermark:          {partition['high_watermark']}\n"
    for kind in ("current_voters", "observers"):
        ids = [each["replica_id"] for each in partition[kind]]
        yield f"{'CurrentVoters:' if kind == 'current_voters' else 'CurrentObservers:':<24}{ids}\n"


def broker_config_lines(cluster: ClusterAdmin) -> Iterator[str]:
    """Yield every broker's settings with their sources, like kafka-configs --describe --all."""
    from kafka.admin import ConfigResource  # loaded only where it is used

    def describe(admin: Any, node: int) -> Any:  # noqa: ANN401 - the library has no types
        return _describe_configs(admin, [ConfigResource("broker", str(node))])

    for node, response in cluster.request_each_broker(describe):
        yield f"All configs for broker {node} are:\n"
        yield from map(config_line, sorted(response["broker"].get(str(node), {}).items()))


def _describe_configs(admin: Any, resources: list[object]) -> Any:  # noqa: ANN401 - the library has no types
    return admin.describe_configs(resources, include_synonyms=True, config_filter="all")


def config_line(setting: tuple[str, dict[str, Any]]) -> str:
    """Return one setting as kafka-configs prints it. The broker itself sends no value of a secret."""
    key, description = setting
    secret = description["is_sensitive"]
    synonyms = ", ".join(
        f"{each['source']}:{each['name']}={_one_line(None if secret else each['value'])}"
        for each in description.get("synonyms") or ()
    )
    value = _one_line(None if secret else description["value"])
    return f"  {key}={value} sensitive={str(secret).lower()} synonyms={{{synonyms}}}\n"


def _one_line(value: str | None) -> str:
    return "null" if value is None else " ".join(value.split("\n"))


def log_dir_lines(cluster: ClusterAdmin) -> Iterator[str]:
    """Yield the sizes of all partitions on all brokers' disks as one line of JSON, like kafka-log-dirs."""
    brokers: list[dict[str, Any]] = []
    silent: NotCollected | None = None
    try:
        for node, (response,) in cluster.request_each_broker(_describe_log_dirs):
            brokers.append({"broker": node, "logDirs": [_log_dir(each) for each in response["log_dirs"]]})
    except NotCollected as error:
        silent = error
    if brokers:
        answered = ",".join(str(each["broker"]) for each in brokers)
        yield "Querying brokers for log directories information\n"
        yield f"Received log directory information from brokers {answered}\n"
        yield json.dumps({"brokers": brokers, "version": 1}, separators=(",", ":")) + "\n"
    if silent:
        raise silent


def _describe_log_dirs(admin: Any, node: int) -> Any:  # noqa: ANN401 - the library has no types
    return admin.describe_log_dirs(brokers=[node])


def _log_dir(description: dict[str, Any]) -> dict[str, Any]:
    partitions = [
        {
            "partition": f"{topic['name']}-{each['partition_index']}",
            "size": each["partition_size"],
            "offsetLag": each["offset_lag"],
            "isFuture": each["is_future_key"],
        }
        for topic in description["topics"]
        for each in topic["partitions"]
    ]
    error = f"error {description['error_code']}" if description["error_code"] else None
    return {"partitions": partitions, "error": error, "logDir": description["log_dir"]}
