"""Makes a broker hold ids, tries a method to free them, and counts the ids on its heap before and after."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from leadsman.lab.brokers.cluster import Cluster, ClusterPlan
from leadsman.lab.brokers.wire_protocol import leak
from leadsman.lab.freeing.methods import count_after, count_ids, every_method

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.lab.freeing.methods import FreeingMethod

IDS = 1_000

BROKER = {"file.delete.delay.ms": "1000", "log.retention.check.interval.ms": "1000", "log.roll.ms": "1000"}
"""Short, so that no measurement takes minutes: a broker keeps deleted segments and their producers for so long."""

FREQUENT_EXPIRY_CHECK = {"producer.id.expiration.check.interval.ms": "500"}
"""Brokers check for expired ids every ten minutes; this shortens the interval where the version has the setting."""


def measure_version(version: str, report: Callable[[str], None]) -> dict[str, object]:
    """Try every method on a broker of one version. Ids that one method freed are created again for the next."""
    plan = ClusterPlan(kafka=version, settings=BROKER | FREQUENT_EXPIRY_CHECK)
    by_method: dict[str, dict[str, object]] = {}
    with Cluster(plan) as cluster:
        for method in every_method():
            counted = by_method[method.name] = _try_method(cluster, method)
            report(f"{version}: {method.description}: {counted['before']} to {counted['after']}")
    return {"measured": datetime.now(UTC).date().isoformat(), "ways": by_method}


def _try_method(cluster: Cluster, method: FreeingMethod) -> dict[str, object]:
    if (present := count_ids(cluster)) < IDS:
        cluster.create_topic(method.topic)
        leak(cluster.bootstrap, method.topic, ids=IDS - present)
    before = count_ids(cluster)
    remark = method.do(cluster)
    return {"before": before, "after": count_after(cluster, before, timeout=method.timeout), "by": remark}
