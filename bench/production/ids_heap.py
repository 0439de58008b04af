"""Class histograms of brokers' heaps as `jcmd PID GC.class_histogram` prints them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from bench.production.ids_cluster import BrokerHistory, count, file_time
from bench.production.ids_logs import MODERN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from random import Random

ENTRY, BATCH = "ProducerStateEntry", "BatchMetadata"
BYTES_OF_ROW = 82
MAX_CLASSES = 7_400
JDK = "java.base@17.0.9"


@dataclass(frozen=True, slots=True)
class DominantClass:
    """A class that fills the heap beside producer ids."""

    class_name: str
    bytes_each: int


BYTES = DominantClass("[B", 900_016)  # large records
FETCH_SESSIONS = DominantClass("kafka.server.CachedPartition", 64)
MANY_PARTITIONS = DominantClass("com.yammer.metrics.core.MetricName", 48)

USUAL: Mapping[str, tuple[int, int]] = {
    "[B": (412_030, 121_400_112),
    "java.lang.String": (318_411, 7_641_864),
    "java.util.concurrent.ConcurrentHashMap$Node": (188_020, 6_016_640),
    "java.util.HashMap$Node": (101_212, 3_238_784),
    "[Ljava.lang.Object;": (96_800, 4_210_336),
    "java.util.TreeMap$Entry": (55_120, 2_204_800),
    "java.lang.Long": (60_110, 1_442_640),
    "[I": (9_004, 9_120_448),
    "java.util.ArrayDeque": (4_010, 96_240),
    "org.apache.kafka.common.TopicPartition": (41_080, 985_920),
    "com.yammer.metrics.stats.ExponentiallyDecayingSample": (8_120, 324_800),
    "org.apache.kafka.common.metrics.stats.SampledStat$Sample": (12_040, 481_600),
}
"""Instances and bytes of classes on a broker of about 1,200 partitions that nothing is wrong with."""

MODERN_COST: Mapping[str, int] = {
    f"org.apache.kafka.storage.internals.log.{ENTRY}": 48,
    f"org.apache.kafka.storage.internals.log.{BATCH}": 40,
    "java.util.ArrayDeque": 24,
    "[Ljava.lang.Object;": 88,
    "java.util.HashMap$Node": 32,
    "java.lang.Long": 24,
}
SCALA_COST: Mapping[str, int] = {
    f"kafka.log.{ENTRY}": 48,
    f"kafka.log.{BATCH}": 40,
    "scala.collection.mutable.Queue": 24,
    "[Ljava.lang.Object;": 144,
    "scala.collection.mutable.HashMap$Node": 32,
    "java.lang.Long": 24,
}


def write_histograms(
    folder: Path,
    random: Random,
    *,
    brokers: tuple[BrokerHistory, ...],
    hours: tuple[float, ...],
    size: int,
    version: str = MODERN,
    dominant: DominantClass = BYTES,
) -> None:
    """One file for each broker and look; more bytes mean more classes, then more looks."""
    looks = _denser(hours, size // (len(brokers) * len(hours) * MAX_CLASSES * BYTES_OF_ROW))
    classes = min(MAX_CLASSES, max(40, size // (len(brokers) * len(hours) * BYTES_OF_ROW)))
    for broker in brokers:
        broker_folder = folder / broker.host.partition(".")[0]
        broker_folder.mkdir(parents=True, exist_ok=True)
        for hour in looks:
            late = hour + random.uniform(1, 40) / 3600
            with (broker_folder / f"class_histogram.{file_time(late)}.txt").open("w") as file:
                file.writelines(_histogram(broker, late, random, version=version, classes=classes, dominant=dominant))


def _denser(hours: tuple[float, ...], number: int) -> tuple[float, ...]:
    """More looks between those asked for, as many for each."""
    parts = max(1, number)
    between = (first + (last - first) * part / parts for first, last in pairwise(hours) for part in range(parts))
    return (*between, hours[-1])


def _histogram(
    broker: BrokerHistory, hour: float, random: Random, *, version: str, classes: int, dominant: DominantClass
) -> Iterator[str]:
    heap = _heap(broker, hour, random, version=version, dominant=dominant)
    for number in range(classes):
        few = max(1, 40_000 // (number + 20))
        heap[f"org.apache.kafka.{_made_up(number)}"] = (few, few * (16 + number % 5 * 8))
    rows = sorted(heap.items(), key=lambda row: -row[1][1])
    yield " num     #instances         #bytes  class name (module)\n"
    yield "-------------------------------------------------------\n"
    for number, (name, (instances, size)) in enumerate(rows, 1):
        module = f" ({JDK})" if name.startswith(("java.", "[")) else ""
        yield f"{number:4d}: {instances:13d} {size:14d}  {name}{module}\n"
    yield f"Total {sum(row[0] for row in heap.values()):13d} {sum(row[1] for row in heap.values()):14d}\n"


def _heap(
    broker: BrokerHistory, hour: float, random: Random, *, version: str, dominant: DominantClass
) -> dict[str, tuple[int, int]]:
    heap = {name: _about(*row, random=random) for name, row in USUAL.items()}
    ids = count(broker, hour)
    for name, cost in (MODERN_COST if version == MODERN else SCALA_COST).items():
        instances, size = heap.get(name, (0, 0))
        heap[name] = (instances + ids, size + ids * cost)
    instances, size = heap.get(dominant.class_name, (0, 0))
    other = int(broker.other_heap(hour)) // dominant.bytes_each
    heap[dominant.class_name] = (instances + other, size + other * dominant.bytes_each)
    return heap


def _about(instances: int, size: int, *, random: Random) -> tuple[int, int]:
    about = int(instances * random.uniform(0.97, 1.03))
    return about, about * (size // instances)


def _made_up(number: int) -> str:
    rooms = (
        "common.requests",
        "common.protocol.types",
        "server.metrics",
        "common.network",
        "metadata",
        "image",
        "raft",
    )
    kinds = ("Field", "Schema", "Record", "View", "Delta", "State", "Builder", "Node", "Key", "Listener")
    return f"{rooms[number % 7]}.{kinds[number // 7 % 10]}{number // 70 or ''}"
