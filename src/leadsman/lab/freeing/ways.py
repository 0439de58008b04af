"""The ways that people try, each as what is done to a broker that holds ids. They know no version's answer."""

from __future__ import annotations

import signal
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.lab import errand
from leadsman.lab.held import producer_ids
from leadsman.lab.wire import leak
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.lab.cluster import Cluster

TOPIC = "orders"
"""Of all ways but one that comes after its deletion: to make it anew at once, old brokers are too slow."""

SETTLED_WITHIN = timedelta(seconds=15)
"""How long a broker is watched before "it frees none" is believed. What frees does so within 2 s."""

DELETED_WITHIN = timedelta(seconds=60)
"""Brokers look for what they have deleted from half a minute after their start on, then each `file.delete.delay.ms`."""

LOOK_EVERY = timedelta(seconds=1)
"""To count, the broker's Java collects its garbage."""

EXPIRY_MS = 1_000
DYNAMIC = "producer.id.expiration.ms"
STATIC = "transactional.id.expiration.ms"


@dataclass(frozen=True, slots=True)
class Way:
    """One way. `says` is a row's heading; `do` is handed the running cluster and returns what it did, if it could."""

    name: str
    says: str
    do: Callable[[Cluster], str]
    topic: str = TOPIC
    within: timedelta = SETTLED_WITHIN


def every_way() -> tuple[Way, ...]:
    """Return them in the order in which they are tried: those that cannot be undone come last."""
    return (
        Way("code_fix", "the producers end (the code fix alone)", _nothing),
        Way("restart", "a clean restart", _restart),
        Way("trim", "all records trimmed (`kafka-delete-records`)", _trim),
        Way("trim_restart", "the same, and a clean restart at once", _trim_restart),
        Way("trim_delete_restart", "the same, and a clean restart when their segments are gone", _trim_delete_restart),
        Way("delete", "the topic deleted", _delete, within=DELETED_WITHIN),
        Way("expiry", "the expiry lowered to 1 s", _expire, topic="payments"),
    )


def count(cluster: Cluster) -> int:
    """Return how many ids the broker's heap holds."""
    return producer_ids(cluster.brokers[0])


def settled(cluster: Cluster, before: int, *, within: timedelta) -> int:
    """Return how many are held once they became fewer, or after the time in which that would have happened."""
    with suppress(LabError):
        wait_for(
            lambda: count(cluster) < before,
            within=within,
            every=LOOK_EVERY,
            what="ids to be freed",
            error=LabError,
        )
    return count(cluster)


def _nothing(_: Cluster) -> str:
    return ""


def _restart(cluster: Cluster) -> str:
    broker = cluster.brokers[0]
    broker.stop(by=signal.SIGTERM)
    broker.start()
    return ""


def _trim(cluster: Cluster) -> str:
    errand.run(cluster.plan.tools, delete_records, bootstrap=cluster.bootstrap, topic=TOPIC)
    return ""


def _trim_restart(cluster: Cluster) -> str:
    _trim(cluster)
    return _restart(cluster)


def _trim_delete_restart(cluster: Cluster) -> str:
    """Restart when retention has deleted the trimmed segments: after a further record, which begins a new one."""
    oldest = min((cluster.brokers[0].folder / "data" / f"{TOPIC}-0").glob("*.log"))
    _trim(cluster)
    leak(cluster.bootstrap, TOPIC, ids=1)
    wait_for(lambda: not oldest.exists(), within=DELETED_WITHIN, what="the segments to be deleted", error=LabError)
    return _restart(cluster)


def _delete(cluster: Cluster) -> str:
    errand.run(cluster.plan.tools, delete_topic, bootstrap=cluster.bootstrap, topic=TOPIC)
    return ""


def _expire(cluster: Cluster) -> str:
    """Lower the expiry: while the broker runs where it lets us, else in its file and with a restart."""
    if errand.run(cluster.plan.tools, lower, bootstrap=cluster.bootstrap, key=DYNAMIC, value=str(EXPIRY_MS)):
        return f"`{DYNAMIC}`, while it runs"
    broker = cluster.brokers[0]
    settings = broker.folder / broker.kind.settings
    settings.write_text(f"{settings.read_text(encoding='utf-8')}{STATIC}={EXPIRY_MS}\n", encoding="utf-8")
    _restart(cluster)
    return f"`{STATIC}`, with a restart"


def delete_records(*, bootstrap: str, topic: str) -> None:
    """Delete all records of a topic."""
    from confluent_kafka import TopicPartition  # noqa: PLC0415 (the lab's extra)
    from confluent_kafka.admin import AdminClient  # noqa: PLC0415 (the same)

    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    partitions = admin.list_topics(topic, timeout=30).topics[topic].partitions
    for told in admin.delete_records([TopicPartition(topic, each, -1) for each in partitions]).values():
        told.result()


def delete_topic(*, bootstrap: str, topic: str) -> None:
    """Delete a topic."""
    from confluent_kafka.admin import AdminClient  # noqa: PLC0415 (the lab's extra)

    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.delete_topics([topic], operation_timeout=30)[topic].result()


def lower(*, bootstrap: str, key: str, value: str) -> bool:
    """Set a broker's setting while it runs, and return whether it knows it and took it."""
    from confluent_kafka import KafkaException  # noqa: PLC0415 (the lab's extra)
    from confluent_kafka.admin import (  # type: ignore[attr-defined]  # noqa: PLC0415 - its types export half of it
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
    wanted = ConfigResource(ConfigResource.Type.BROKER, "1", incremental_configs=[entry])
    try:
        admin.incremental_alter_configs([wanted])[wanted].result(30)
    except KafkaException:
        return False
    return True
