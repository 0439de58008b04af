"""From what there is to read to its events: those that are in this process, and those that tasks read.

As rows that Spark SQL queries, or as the parcels (`parcels.py`) that tasks hand to one another.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from leadsman.pipeline import embedded
from leadsman.pipeline import events as table
from leadsman.pipeline.embedded import is_embedded
from leadsman.pipeline.held import KEPT_APART
from leadsman.pipeline.lean import frame_of
from leadsman.pipeline.parcels import PARCEL, PARCEL_IN_SPARK, parcels
from leadsman.pipeline.remote_files import remote_events
from leadsman.pipeline.streams import balanced, is_elsewhere, tasks_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo

    from pyspark.sql import DataFrame, SparkSession

    from leadsman.pipeline.question import Input
    from leadsman.pipeline.streams import Stream


def parcels_of(spark: SparkSession, source: Input) -> DataFrame:
    """Return the parcels of an input: of the events that are here, and of what tasks read where the bytes are."""
    return reduce(lambda left, right: left.unionByName(right), _read(spark, source, packed=True))


def events_of(spark: SparkSession, source: Input) -> DataFrame:
    """Return the event table: the events that are here, and what tasks read where the bytes are."""
    if is_embedded(spark):
        assert source.events is not None
        return embedded.held(source.events)
    events = reduce(lambda left, right: left.unionByName(right), _read(spark, source, packed=False))
    is_small = source.is_here and source.events is not None and source.events.num_rows <= KEPT_APART
    return events.coalesce(1) if is_small else events


def _read(spark: SparkSession, source: Input, *, packed: bool) -> list[DataFrame]:
    remote = [stream for stream in source.streams if is_elsewhere(stream.capture)]
    local = [stream for stream in source.streams if not is_elsewhere(stream.capture)]
    tasks = tasks_for(remote, cores(spark))
    parts = [remote_events(spark, remote, source.zone, tasks=tasks, packed=packed)] if remote else []
    if source.events is not None and (local or not parts):
        parts.append(frame_of(spark, _packed(source.events) if packed else source.events))
    elif local:
        parts.append(read_events(spark, local, source.zone, packed=packed))
    return parts


def _packed(events: pa.Table) -> pa.Table:
    batches = events.to_batches(max_chunksize=table.ROWS_A_BATCH)
    return pa.Table.from_batches(list(parcels(batches)), schema=PARCEL)


def read_events(spark: SparkSession, streams: Sequence[Stream], zone: tzinfo, *, packed: bool = False) -> DataFrame:
    """Return the event table of the streams, or its parcels, read by as many tasks as there are cores for."""
    parts = balanced(streams, tasks_for(streams, cores(spark)))

    def read_parts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from leadsman.pipeline.events import batches as gathered  # noqa: PLC0415 - runs on the executor
        from leadsman.pipeline.parcels import parcels  # noqa: PLC0415
        from leadsman.pipeline.read import read  # noqa: PLC0415

        for batch in batches:
            asked: list[Any] = batch.column("id").to_pylist()  # `to_numpy` would load pandas
            told = gathered(each for part in asked for stream in parts[part] for each in read(stream, zone))
            yield from parcels(told) if packed else told

    ids = spark.range(0, len(parts), 1, max(1, len(parts)))
    return ids.mapInArrow(read_parts, PARCEL_IN_SPARK if packed else table.SPARK)


def cores(spark: SparkSession) -> int:
    """Return how many cores there are for tasks, as far as the session says."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # noqa: BLE001 - Spark Connect has no context to ask; any error means that
        return int(spark.conf.get("spark.sql.leafNodeDefaultParallelism", "8") or 8)
