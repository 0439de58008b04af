"""What a metric says beyond its number, under whichever of the names that exporters give it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leadsman import vocabulary as v

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leadsman.telemetry.reading import Facts

PRODUCER_IDS = "replicamanagerproduceridcount"
"""kafka.server:type=ReplicaManager,name=ProducerIdCount, since 3.5: all partitions of one broker together."""

HEAP = {
    "jvmmemorybytesused": "used",
    "jvmmemoryusedbytes": "used",
    "jvmmemorybytescommitted": "committed",
    "jvmmemorycommittedbytes": "committed",
    "jvmmemorybytesmax": "max",
    "jvmmemorymaxbytes": "max",
}
"""What the Java client library of Prometheus calls the sizes of memory areas, before and since its 1.0."""

PROCESSORS = ("nodecpusecondstotal", "nodecpu")
"""Prometheus's node_exporter since its 0.16, and before: seconds by `cpu` and `mode`, of which `steal` is one."""

REPORTS = frozenset({v.METRIC, v.PRODUCERS_COUNTED, v.HEAP_SIZE, v.HOST_STOLEN})


def told(facts: Facts) -> Iterator[Facts]:
    """Yield samples of one metric, and what they mean.

    Of processors only what was stolen is told: every host has a series for each mode of each, and nobody reads them.
    """
    bare = str(facts.labels["metric"][0]).replace("_", "").lower()
    if bare not in PROCESSORS:
        yield facts
    yield from _meaning(facts, bare)


def _meaning(facts: Facts, bare: str) -> Iterator[Facts]:
    if PRODUCER_IDS in bare:
        yield replace(facts, name=v.PRODUCERS_COUNTED, labels={"via": ["metric"] * len(facts.lines)})
    elif bare in HEAP:
        heap = _where(facts, area="heap")
        yield replace(_chosen(facts, heap), name=v.HEAP_SIZE, labels={"kind": [HEAP[bare]] * len(heap)})
    elif bare in PROCESSORS and (stolen := _where(facts, mode="steal")):
        labels = {"cpu": [facts.labels["cpu"][index] for index in stolen]} if "cpu" in facts.labels else {}
        yield replace(_chosen(facts, stolen), name=v.HOST_STOLEN, labels=labels)


def _where(facts: Facts, **wanted: str) -> list[int]:
    """Return which samples have this label."""
    ((name, value),) = wanted.items()
    return [index for index, found in enumerate(facts.labels.get(name, ())) if found == value]


def _chosen(facts: Facts, indices: Sequence[int]) -> Facts:
    return replace(
        facts,
        lines=[facts.lines[index] for index in indices],
        texts=[facts.texts[index] for index in indices],
        values=[facts.values[index] for index in indices],
        at=[facts.at[index] for index in indices] if facts.at else None,
        subjects=[facts.subjects[index] for index in indices] if facts.subjects else None,
    )
