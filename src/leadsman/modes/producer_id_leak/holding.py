"""What brokers hold at this moment, asked of the cluster itself: the census that a remedy is chosen and judged by."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leadsman.collect.collector import CouldNotBeHad
from leadsman.collect.collectors.jvm import histogram
from leadsman.collect.kafka import topics
from leadsman.remedies.remedy import Refused
from leadsman.telemetry.reading import About
from leadsman.telemetry.sources import class_histogram
from leadsman.vocabulary import PRODUCERS_COUNTED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leadsman.collect.kafka.connection import Cluster

FEW = 10
"""Records: an id that sent more in one partition is of a producer that was made to stay, and may be alive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Ids by topic: all, those silent since a moment, of these such as sent many records, and those that came since.

    `unknown` are partitions that nobody could be asked about, and why.
    """

    all: Mapping[str, int]
    silent: Mapping[str, int]
    silent_fleet: Mapping[str, int]
    since: Mapping[str, int]
    unknown: Sequence[str] = ()

    @property
    def total(self) -> int:
        """Ids of all topics."""
        return sum(self.all.values())

    @property
    def total_silent(self) -> int:
        """Ids of all topics that have been silent since the moment."""
        return sum(self.silent.values())


def held(cluster: Cluster, wanted: Sequence[str], moment_ms: int) -> Held:
    """Ask every leader for its producers. Ids with an open transaction never count as silent: they do not expire."""
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in ("all", "silent", "silent_fleet", "since")}
    unknown = []
    for (topic, number), _leader, told in topics.held(cluster, wanted):
        if isinstance(told, str):
            unknown.append(f"{topic}-{number}: {told}")
            continue
        counts["all"][topic] += len(told)
        for kind, ids in Counter(kind for one in told for kind in _kinds(one, moment_ms)).items():
            counts[kind][topic] += ids
    if not counts["all"] and unknown:
        raise CouldNotBeHad(unknown[0])
    return Held(**counts, unknown=unknown)


def _kinds(told: Any, moment_ms: int) -> tuple[str, ...]:  # noqa: ANN401 - the library has no types
    if told.last_timestamp >= moment_ms:
        return ("since",)
    if told.last_timestamp < 0 or told.current_transaction_start_offset >= 0:
        return ()
    return ("silent", "silent_fleet") if told.last_sequence >= FEW else ("silent",)


def on_heaps(pids: Sequence[int]) -> int:
    """Count the ids on the heaps of these brokers, which run on this host: the only census before 2.8."""
    return sum(map(_on_heap, pids))


def _on_heap(pid: int) -> int:
    text = "".join(histogram(pid)).encode()
    told = class_histogram.SOURCE.reading
    assert told is not None
    facts = told.facts([text], About(file="histogram"))
    return int(sum(each.values[0] or 0 for each in facts if each.name == PRODUCERS_COUNTED))


def oldest_version(cluster: Cluster) -> tuple[int, ...]:
    """Return the version of the oldest broker, as its API tells it: what it can do, all can."""
    asked = cluster.brokers()
    versions = [cluster.ask(lambda admin, node: admin.get_broker_version_data(node).broker_version, n) for n in asked]
    if not versions:
        raise Refused("The cluster names no broker. Is it starting? Try again.")
    return min(tuple(version) for version in versions)
