"""Measures what a second machine is worth to a watch, on a standalone cluster, and writes docs/watch.md.

python -m bench.watch_executors            2.4 GB of mixed logs, two rounds
python -m bench.watch_executors --smoke    20 MB, one round, the table on the screen only

Growing files are read to their end by executors of one core each, by turns on a cluster with one and with two of them.
The driver, which plans, keeps the events and writes the tables, has what is left of this machine's cores.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from bench.generate import generate
from bench.measure import machine

from leadsman.lab.spark.cluster import SHORT_LIVED, spark_cluster
from leadsman.lab.survival.table import replace_between
from leadsman.pipeline.spark.event_frames import cores
from leadsman.pipeline.spark.session import SessionOptions, session
from leadsman.watch.file_listing import FolderListing
from leadsman.watch.watch_query import STREAMING_CONF, WatchQuery, WatchQueryOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

PAGE = Path(__file__).parent.parent / "docs" / "watch.md"
MARKS = ("<!-- written by python -m bench.watch_executors; do not edit -->", "<!-- until here, of executors -->")
MEGABYTES, WRITERS, ROUNDS = 2400, 20, 2
EXECUTORS = (1, 2)
TRIGGER_BYTES = 256 << 20
"""More than by default: planning a trigger and writing its events take the driver half a second whatever its size."""

CONF = {
    **STREAMING_CONF,
    "spark.executor.memory": "600m",
    "spark.driver.memory": "600m",
    "spark.executor.extraJavaOptions": SHORT_LIVED,
    "spark.sql.shuffle.partitions": "2",
}


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="Small and short; nothing is written.")
    smoke = parser.parse_args().smoke
    about = machine()
    seconds: dict[int, list[float]] = {count: [] for count in EXECUTORS}
    with tempfile.TemporaryDirectory(prefix="leadsman-bench-executors-") as name:
        folder = Path(name)
        logs = generate(folder / "generated", 20 if smoke else MEGABYTES, WRITERS)
        size = sum(path.stat().st_size for path in logs.rglob("*") if path.is_file())
        for number in range(1 if smoke else ROUNDS):
            for count, taken in seconds.items():
                taken.append(_round(logs, folder / f"{number}-{count}", executors=count))
                print(f"{count} executors: {taken[-1]:.1f} s")
    table = "\n".join(_table(seconds, size, about))
    print(table)
    if not smoke:
        PAGE.write_text(replace_between(PAGE.read_text(encoding="utf-8"), MARKS, table), encoding="utf-8")


def _round(logs: Path, folder: Path, *, executors: int) -> float:
    """Return the seconds of reading everything for the second time, each from an empty state, in one session."""
    folder.mkdir()
    with (
        spark_cluster(folder, workers=executors, memory_mb=900) as cluster,
        session(SessionOptions(master=cluster.url, conf=CONF, is_long_lived=True)) as spark,
    ):
        _read(spark, logs, folder / "first")
        return _read(spark, logs, folder / "second")


def _read(spark: SparkSession, logs: Path, state: Path) -> float:
    watch = WatchQuery(
        spark, FolderListing([str(logs)], TRIGGER_BYTES), WatchQueryOptions(state, UTC, 0.0, cores(spark))
    )
    began = time.perf_counter()
    with watch.running() as query:
        query.processAllAvailable()
        return time.perf_counter() - began


def _table(seconds: Mapping[int, list[float]], size: int, about: Mapping[str, str]) -> Iterator[str]:
    rounds = len(seconds[EXECUTORS[0]])
    yield (
        f"{size / 1e6:.0f} MB in 44 files; {rounds} rounds by turns, medians; {os.cpu_count()} cores, "
        f"{datetime.now(UTC):%Y-%m-%d}, load at the start {about['load at the start']}.\n"
    )
    yield "| executors of one core | s | MB/s | times one executor |"
    yield "|---|---|---|---|"
    one = seconds[EXECUTORS[0]]
    for count, taken in seconds.items():
        times = median(first / each for first, each in zip(one, taken, strict=True))
        yield f"| {count} | {median(taken):.1f} | {size / 1e6 / median(taken):.1f} | {times:.2f} |"


if __name__ == "__main__":
    main()
