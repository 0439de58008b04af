"""Measures watching, from a line to the event table, from Kafka and from files by turns; writes docs/watch.md.

python -m bench.watch             900 MB of mixed logs, two rounds
python -m bench.watch --smoke     6 MB, one round, the table on the screen only

The same lines lie in files and in a topic of four partitions, keyed by writer. Each round begins with an empty state in
the same warm session. CPU time is that of the driver, the JVM and the Python workers; the broker's is left out.
Beside them a Kafka Streams program looks for the same signatures in the same topic (`bench/watch_peer.py`).
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import psutil
from bench.cpu_time import cpu_seconds
from bench.generate import generate
from bench.measure import machine
from bench.watch_peer import StreamsPeer, streams_peer

from leadsman.lab.brokers.cluster import Cluster, ClusterPlan
from leadsman.lab.survival.table import replace_between
from leadsman.pipeline.spark.event_frames import cores
from leadsman.pipeline.spark.session import SessionOptions, session
from leadsman.watch.file_listing import FolderListing
from leadsman.watch.kafka.client_settings import write_settings
from leadsman.watch.kafka.listing import KafkaListing, TopicsRequest
from leadsman.watch.source import CombinedListing, SourceRequests
from leadsman.watch.watch_query import STREAMING_CONF, WatchQuery, WatchQueryOptions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from pyspark.sql import SparkSession

PAGE = Path(__file__).parent.parent / "docs" / "watch.md"
MARKS = ("<!-- written by python -m bench.watch; do not edit -->", "<!-- until here, of the benchmark -->")
MEGABYTES, WRITERS, ROUNDS, PARTITIONS = 900, 20, 2, 4
TOPIC = "logs"


@dataclass(slots=True)
class SourceTimings:
    """One source and what its rounds took: seconds of wall time and of CPU time."""

    name: str
    listing: Any
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    events: int = 0


@dataclass(frozen=True, slots=True)
class InputVolume:
    """How much was read in each round."""

    count: int
    bytes: int


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="Small and short; nothing is written.")
    smoke = parser.parse_args().smoke
    about = machine()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadsman-bench-watch-")))
        logs = generate(folder / "generated", 6 if smoke else MEGABYTES, WRITERS)
        cluster = stack.enter_context(Cluster(ClusterPlan()))
        cluster.create_topic(TOPIC, partitions=PARTITIONS, config={"retention.ms": "-1"})
        lines = _produce(cluster.bootstrap, logs)
        conf = {**STREAMING_CONF, "spark.sql.shuffle.partitions": "2"}
        spark = stack.enter_context(session(SessionOptions(conf=conf, is_long_lived=True)))
        peer = stack.enter_context(streams_peer(cluster, TOPIC, lines.count, folder / "peer"))
        brokers = set(_broker_processes(cluster))
        sources = [SourceTimings("Kafka", cluster.bootstrap), SourceTimings("files", logs)]
        streams = SourceTimings("Kafka, by a Kafka Streams program", None)
        for number in range(2 if smoke else ROUNDS + 1):
            for source in sources:
                _round(spark, source, folder / f"{source.name}-{number}", brokers, is_warm=number > 0)
            _peer_round(peer, streams, is_warm=number > 0)
    table = "\n".join(_table([sources[0], streams, sources[1]], lines, about))
    print(table)
    if not smoke:
        PAGE.write_text(replace_between(PAGE.read_text(encoding="utf-8"), MARKS, table), encoding="utf-8")


def _produce(bootstrap: str, logs: Path) -> InputVolume:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "compression.type": "lz4"})
    count = size = 0
    for path in sorted(each for each in logs.rglob("*") if each.is_file()):
        key = path.relative_to(logs).as_posix()
        for line in path.read_bytes().splitlines():
            while True:
                try:
                    producer.produce(TOPIC, line, key)
                    break
                except BufferError:
                    producer.poll(0.1)
            count, size = count + 1, size + len(line) + 1
        producer.poll(0)
    producer.flush()
    return InputVolume(count, size)


def _broker_processes(cluster: Cluster) -> Iterator[int]:
    """Yield the processes that are no part of watching: those that run a broker of this cluster."""
    for each in psutil.Process().children(recursive=True):
        if any(str(cluster.folder) in part for part in [each.cwd(), *each.cmdline()]):
            yield each.pid


def _round(spark: SparkSession, source: SourceTimings, state: Path, brokers: Collection[int], *, is_warm: bool) -> None:
    """Read everything once, from an empty state."""
    options = WatchQueryOptions(state, UTC, 0.0, cores(spark))
    state.mkdir()
    topics = None
    listing: Any = FolderListing([str(source.listing)])
    if source.name == "Kafka":
        topics = TopicsRequest(source.listing, (TOPIC,), write_settings(None, state), str(state))
        listing = CombinedListing([KafkaListing(topics)])
    watch = WatchQuery(spark, listing, options, SourceRequests(topics=topics))
    started, cpu = time.perf_counter(), cpu_seconds(left_out=brokers)
    with watch.running() as query:
        query.processAllAvailable()
        wall, used = time.perf_counter() - started, cpu_seconds(left_out=brokers) - cpu
        source.events = watch._events.table().num_rows  # noqa: SLF001 - a benchmark looks inside
    print(f"{source.name}: {wall:.1f} s, {used:.1f} s of CPU time, {source.events} events")
    if is_warm:
        source.wall.append(wall)
        source.cpu.append(used)


def _peer_round(peer: StreamsPeer, timings: SourceTimings, *, is_warm: bool) -> None:
    wall, cpu, timings.events = peer.round()
    print(f"{timings.name}: {wall:.1f} s, {cpu:.1f} s of CPU time, {timings.events} matched lines")
    if is_warm:
        timings.wall.append(wall)
        timings.cpu.append(cpu)


def _table(sources: Sequence[SourceTimings], lines: InputVolume, about: dict[str, str]) -> Iterator[str]:
    kafka, streams, files = sources
    yield (
        f"{lines.count:,} lines, {lines.bytes / 1e6:.0f} MB, of {WRITERS} writers and 24 workers; {len(kafka.cpu)} "
        f"rounds by turns, medians; {os.cpu_count()} cores, {datetime.now(UTC):%Y-%m-%d}, load at the start "
        f"{about['load at the start']}.\n"
    )
    yield "| from | lines/s | lines/s of one processor | MB/s of one processor | events |"
    yield "|---|---|---|---|---|"
    for each in sources:
        wall, cpu = median(each.wall), median(each.cpu)
        yield (
            f"| {each.name} | {lines.count / wall:,.0f} | {lines.count / cpu:,.0f} | {lines.bytes / 1e6 / cpu:.1f} "
            f"| {each.events:,} |"
        )
    yield (
        f"\nA line from Kafka takes {_ratio(kafka, files)} the CPU time of one from a file, and "
        f"{_ratio(kafka, streams)} that of the Streams program, whose events are matched lines."
    )


def _ratio(ours: SourceTimings, theirs: SourceTimings) -> str:
    ratios = sorted(one / other for one, other in zip(ours.cpu, theirs.cpu, strict=True))
    return f"{median(ratios):.1f} times (round by round {ratios[0]:.1f} to {ratios[-1]:.1f})"


if __name__ == "__main__":
    main()
