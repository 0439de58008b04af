"""Events that a metric stands for beyond its number, under each of the names that exporters give the metric."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from leadsman import vocabulary as v

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leadsman.telemetry.outputs.parser import EventColumns

PRODUCER_ID_METRIC = "replicamanagerproduceridcount"
"""kafka.server:type=ReplicaManager,name=ProducerIdCount, since 3.5: all partitions of one broker together."""

HEAP_METRICS = {
    "jvmmemorybytesused": "used",
    "jvmmemoryusedbytes": "used",
    "jvmmemorybytescommitted": "committed",
    "jvmmemorycommittedbytes": "committed",
    "jvmmemorybytesmax": "max",
    "jvmmemorymaxbytes": "max",
}
"""Sizes of memory areas, as the Java client library of Prometheus names them before its version 1.0 and since."""

CPU_METRICS = ("nodecpusecondstotal", "nodecpu")
"""Prometheus's node_exporter since its 0.16, and before: seconds by `cpu` and `mode`, of which `steal` is one."""

CACHED_METRICS = 20_000

EVENT_NAMES = frozenset({v.METRIC, v.PRODUCERS_COUNTED, v.HEAP_SIZE, v.CPU_STEAL})


@lru_cache(CACHED_METRICS)
def is_plain_metric(metric: str) -> bool:
    """Whether the samples of a metric are events of their own and stand for no others."""
    bare_name = _bare(metric)
    return PRODUCER_ID_METRIC not in bare_name and bare_name not in HEAP_METRICS and bare_name not in CPU_METRICS


def _bare(metric: str) -> str:
    return metric.replace("_", "").lower()


def events_of_metric(samples: EventColumns) -> Iterator[EventColumns]:
    """Yield the samples of one metric, and the events that they stand for.

    Of CPU metrics only the steal time becomes events: every host has a series for each mode of each CPU, and no
    detector reads the other modes.
    """
    metric = samples.labels["metric"]
    bare_name = _bare(metric if isinstance(metric, str) else str(metric[0]))
    if bare_name not in CPU_METRICS:
        yield samples
    yield from _derived_events(samples, bare_name)


def _derived_events(samples: EventColumns, bare_name: str) -> Iterator[EventColumns]:
    if PRODUCER_ID_METRIC in bare_name:
        yield replace(samples, name=v.PRODUCERS_COUNTED, labels={"via": "metric"})
    elif bare_name in HEAP_METRICS:
        heap = _indices_with_label(samples, "area", "heap")
        yield replace(select_events(samples, heap), name=v.HEAP_SIZE, labels={"kind": HEAP_METRICS[bare_name]})
    elif bare_name in CPU_METRICS and (steal := _indices_with_label(samples, "mode", "steal")):
        cpu = samples.labels.get("cpu")
        cpus = {} if cpu is None else {"cpu": cpu if isinstance(cpu, str) else [cpu[index] for index in steal]}
        yield replace(select_events(samples, steal), name=v.CPU_STEAL, labels=cpus)


def _indices_with_label(samples: EventColumns, name: str, value: str) -> list[int]:
    labels = samples.labels.get(name, ())
    if isinstance(labels, str):
        return list(range(len(samples.lines))) if labels == value else []
    return [index for index, label in enumerate(labels) if label == value]


def select_events(samples: EventColumns, indices: Sequence[int]) -> EventColumns:
    """Return the events at these indices, in rising order; the same object where these are all."""
    subjects = samples.subjects
    if len(indices) == len(samples.lines):
        return samples
    return replace(
        samples,
        lines=[samples.lines[index] for index in indices],
        texts=[samples.texts[index] for index in indices],
        values=[samples.values[index] for index in indices],
        at=[samples.at[index] for index in indices] if samples.at else None,
        subjects=subjects if subjects is None or isinstance(subjects, str) else [subjects[index] for index in indices],
    )
