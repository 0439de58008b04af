"""The methods that operators try, each as an action on a broker that holds ids. None knows the version's behaviour."""

from __future__ import annotations

import signal
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.lab.brokers.wire_protocol import leak
from leadsman.lab.oracles.producer_ids import count_producer_ids
from leadsman.lab.processes import netns_call
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.lab.brokers.cluster import Cluster

TOPIC = "orders"
"""For all methods but the last, which runs after this topic's deletion: old brokers create it again too slowly."""

FREED_TIMEOUT = timedelta(seconds=15)
"""How long a broker is observed before the result is "frees none". Methods that work free ids within 2 s."""

DELETED_TIMEOUT = timedelta(seconds=60)
"""Brokers remove deleted logs from half a minute after their start on, then every `file.delete.delay.ms`."""

COUNT_EVERY = timedelta(seconds=1)
"""To count, the broker's JVM collects its garbage."""

EXPIRY_MS = 1_000
DYNAMIC = "producer.id.expiration.ms"
STATIC = "transactional.id.expiration.ms"


@dataclass(frozen=True, slots=True)
class FreeingMethod:
    """One method. `description` is a row's heading; `do` gets the running cluster and returns a remark or ""."""

    name: str
    description: str
    do: Callable[[Cluster], str]
    topic: str = TOPIC
    timeout: timedelta = FREED_TIMEOUT


def every_method() -> tuple[FreeingMethod, ...]:
    """Return them in the order of trial: methods that cannot be undone come last."""
    return (
        FreeingMethod("code_fix", "the producers end (the code fix alone)", _nothing),
        FreeingMethod("restart", "a clean restart", _restart),
        FreeingMethod("trim", "all records trimmed (`kafka-delete-records`)", _trim),
        FreeingMethod("trim_restart", "the same, and a clean restart directly after it", _trim_restart),
        FreeingMethod(
            "trim_delete_restart", "the same, and a clean restart when their segments are gone", _trim_delete_restart
        ),
        FreeingMethod("delete", "the topic deleted", _delete, timeout=DELETED_TIMEOUT),
        FreeingMethod("expiry", "the expiry lowered to 1 s", _expire, topic="payments"),
    )


def count_ids(cluster: Cluster) -> int:
    """Return how many ids the broker's heap holds."""
    return count_producer_ids(cluster.brokers[0])


def count_after(cluster: Cluster, before: int, *, timeout: timedelta) -> int:
    """Return the number of ids once they became fewer, or after `timeout`."""
    with suppress(LabError):
        wait_for(
            lambda: count_ids(cluster) < before,
            timeout=timeout,
            every=COUNT_EVERY,
            what="ids to be freed",
            error=LabError,
        )
    return count_ids(cluster)


def _nothing(_: Cluster) -> str:
    return ""


def _restart(cluster: Cluster) -> str:
    broker = cluster.brokers[0]
    broker.stop(by=signal.SIGTERM)
    broker.start()
    return ""


def _trim(cluster: Cluster) -> str:
    netns_call.call(cluster.plan.tools_namespace, delete_records, bootstrap=cluster.bootstrap, topic=TOPIC)
    return ""


def _trim_restart(cluster: Cluster) -> str:
    _trim(cluster)
    return _restart(cluster)


def _trim_delete_restart(cluster: Cluster) -> str:
    """Restart when retention has deleted the trimmed segments: after a further record, which starts a new segment."""
    oldest = min((cluster.brokers[0].folder / "data" / f"{TOPIC}-0").glob("*.log"))
    _trim(cluster)
    leak(cluster.bootstrap, TOPIC, ids=1)
    wait_for(lambda: not oldest.exists(), timeout=DELETED_TIMEOUT, what="the segments to be deleted", error=LabError)
    return _restart(cluster)


def _delete(cluster: Cluster) -> str:
    netns_call.call(cluster.plan.tools_namespace, delete_topic, bootstrap=cluster.bootstrap, topic=TOPIC)
    return ""


def _expire(cluster: Cluster) -> str:
    """Lower the expiry: while the broker runs where it allows that, otherwise in its file and with a restart."""
    if netns_call.call(
        cluster.plan.tools_namespace, lower_setting, bootstrap=cluster.bootstrap, key=DYNAMIC, value=str(EXPIRY_MS)
    ):
        return f"`{DYNAMIC}`, while it runs"
    broker = cluster.brokers[0]
    settings = broker.folder / broker.kind.settings
    settings.write_text(f"{settings.read_text(encoding='utf-8')}{STATIC}={EXPIRY_MS}\n", encoding="utf-8")
    _restart(cluster)
    return f"`{STATIC}`, with a restart"


def delete_records(*, bootstrap: str, topic: str) -> None:
    """Delete all records of a topic."""
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    partitions = admin.list_topics(topic, timeout=30).topics[topic].partitions
    for future in admin.delete_records([TopicPartition(topic, each, -1) for each in partitions]).values():
        future.result()


def delete_topic(*, bootstrap: str, topic: str) -> None:
    """Delete a topic."""
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.delete_topics([topic], operation_timeout=30)[topic].result()


def lower_setting(*, bootstrap: str, key: str, value: str) -> bool:
    """Set a broker's setting while it runs, and return whether the broker has and accepted it."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its types export half of it
        AdminClient,
        AlterConfigOpType,
        ConfigEntry,
        ConfigResource,
    )

    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    broker = ConfigResource(ConfigResource.Type.BROKER, "1")
    if key not in admin.describe_configs([broker])[broker].result(30):
        return False
    entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    change = ConfigResource(ConfigResource.Type.BROKER, "1", incremental_configs=[entry])
    try:
        admin.incremental_alter_configs([change])[change].result(30)
    except KafkaException:
        return False
    return True
