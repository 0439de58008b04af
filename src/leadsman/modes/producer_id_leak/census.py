"""Counts the producer ids that brokers keep now, by requests to the cluster: remedies are chosen and verified by it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leadsman.collect.collector import NotCollected
from leadsman.collect.collectors.jvm import histogram
from leadsman.collect.kafka import topics
from leadsman.remedies.remedy import Refused
from leadsman.telemetry.outputs.parser import OutputContext
from leadsman.telemetry.sources.java import class_histogram
from leadsman.vocabulary import PRODUCERS_COUNTED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leadsman.collect.kafka.connection import ClusterAdmin

FEW_RECORDS = 10
"""An id that sent more records to a partition than this belongs to a long-lived producer, which may be alive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerIdCensus:
    """Producer ids by topic: all; `idle` since a given time; of these the ones with many records; and `recent` ones.

    `unknown` lists the partitions whose leader gave no answer, with the reason.
    """

    all: Mapping[str, int]
    idle: Mapping[str, int]
    idle_fleet: Mapping[str, int]
    recent: Mapping[str, int]
    unknown: Sequence[str] = ()

    @property
    def total(self) -> int:
        """Ids of all topics."""
        return sum(self.all.values())

    @property
    def total_idle(self) -> int:
        """Ids of all topics that have been idle since the given time."""
        return sum(self.idle.values())


def producer_id_census(cluster: ClusterAdmin, topic_names: Sequence[str], moment_ms: int) -> ProducerIdCensus:
    """Request the producers of every leader. Ids with an open transaction never count as idle: they do not expire."""
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in ("all", "idle", "idle_fleet", "recent")}
    unknown = []
    for (topic, number), _leader, producers in topics.producers_by_partition(cluster, topic_names):
        if isinstance(producers, str):
            unknown.append(f"{topic}-{number}: {producers}")
            continue
        counts["all"][topic] += len(producers)
        for kind, ids in Counter(kind for one in producers for kind in _kinds(one, moment_ms)).items():
            counts[kind][topic] += ids
    if not counts["all"] and unknown:
        raise NotCollected(unknown[0])
    return ProducerIdCensus(**counts, unknown=unknown)


def _kinds(producer: Any, moment_ms: int) -> tuple[str, ...]:  # noqa: ANN401 - the library has no types
    if producer.last_timestamp >= moment_ms:
        return ("recent",)
    if producer.last_timestamp < 0 or producer.current_transaction_start_offset >= 0:
        return ()
    return ("idle", "idle_fleet") if producer.last_sequence >= FEW_RECORDS else ("idle",)


def count_on_heaps(pids: Sequence[int]) -> int:
    """Count the ids in the heaps of these brokers, which run on this host: the only way to count ids before 2.8."""
    return sum(map(_count_on_heap, pids))


def _count_on_heap(pid: int) -> int:
    text = "".join(histogram(pid)).encode()
    parser = class_histogram.SOURCE.parser
    assert parser is not None
    facts = parser.parse([text], OutputContext(file="histogram"))
    return int(sum(each.values[0] or 0 for each in facts if each.name == PRODUCERS_COUNTED))


def oldest_version(cluster: ClusterAdmin) -> tuple[int, ...]:
    """Return the version of the oldest broker, from its API versions: all brokers support its features."""
    brokers = cluster.brokers()
    versions = [
        cluster.request(lambda admin, node: admin.get_broker_version_data(node).broker_version, n) for n in brokers
    ]
    if not versions:
        raise Refused("The cluster names no broker. Is it starting? Try again.")
    return min(tuple(version) for version in versions)
