"""Has a broker hold ids, tries a way to free them, and counts on its heap before and after."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from leadsman.lab.cluster import Cluster, Plan
from leadsman.lab.freeing.ways import count, every_way, settled
from leadsman.lab.wire import leak

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.lab.freeing.ways import Way

IDS = 1_000

BROKER = {"file.delete.delay.ms": "1000", "log.retention.check.interval.ms": "1000", "log.roll.ms": "1000"}
"""Kept short, so that a broker is not watched for minutes: it holds what it deleted for so long, and its producers."""

CHECKED_OFTEN = {"producer.id.expiration.check.interval.ms": "500"}
"""Brokers look for expired ids every ten minutes; those that can be told otherwise are. Unknown to older ones."""


def of_version(version: str, say: Callable[[str], None]) -> dict[str, object]:
    """Try every way on a broker of one version. Each finds the ids there, made anew where the last one freed them."""
    plan = Plan(kafka=version, settings=BROKER | CHECKED_OFTEN)
    ways: dict[str, dict[str, object]] = {}
    with Cluster(plan) as cluster:
        for way in every_way():
            ways[way.name] = _tried(cluster, way)
            say(f"{version}: {way.says}: {ways[way.name]['before']} to {ways[way.name]['after']}")
    return {"measured": datetime.now(UTC).date().isoformat(), "ways": ways}


def _tried(cluster: Cluster, way: Way) -> dict[str, object]:
    if (there := count(cluster)) < IDS:
        cluster.create_topic(way.topic)
        leak(cluster.bootstrap, way.topic, ids=IDS - there)
    before = count(cluster)
    did = way.do(cluster)
    return {"before": before, "after": settled(cluster, before, within=way.within), "by": did}
