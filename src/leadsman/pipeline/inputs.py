"""From what there is to read to its events: those that are in this process, and those that tasks read.

As rows that Spark SQL queries, or as the parcels (`parcels.py`) that tasks hand to one another.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from leadsman.pipeline import embedded
from leadsman.pipeline import events as table
from leadsman.pipeline.elsewhere import events_elsewhere, parcels_elsewhere
from leadsman.pipeline.embedded import is_embedded
from leadsman.pipeline.held import KEPT_APART
from leadsman.pipeline.lean import frame_of
from leadsman.pipeline.parcels import PARCEL, PARCEL_IN_SPARK, parcels
from leadsman.pipeline.streams import balanced, is_elsewhere

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo

    from pyspark.sql import DataFrame, SparkSession

    from leadsman.pipeline.question import Input
    from leadsman.pipeline.streams import Stream


def parcels_of(spark: SparkSession, source: Input) -> DataFrame:
    """Return the parcels of an input: of the events that are here, and of what tasks read where the bytes are."""
    made = [parcels_elsewhere(spark, path, source.zone) for path in source.found if is_elsewhere(path)]
    if source.events is not None:
        batches = source.events.to_batches(max_chunksize=table.ROWS_A_BATCH)
        made.append(frame_of(spark, pa.Table.from_batches(list(parcels(batches)), schema=PARCEL)))
    elif source.streams:
        made.append(read_parcels(spark, source.streams, source.zone))
    return reduce(lambda left, right: left.unionByName(right), made)


def events_of(spark: SparkSession, source: Input) -> DataFrame:
    """Return the event table: the events that are here, and what tasks read where the bytes are."""
    if is_embedded(spark):
        assert source.events is not None
        return embedded.held(source.events)
    parts = [events_elsewhere(spark, path, source.zone) for path in source.found if is_elsewhere(path)]
    if source.events is not None and (source.streams or not parts):
        parts.append(frame_of(spark, source.events))
    elif source.streams:
        parts.append(read_events(spark, source.streams, source.zone))
    events = reduce(lambda left, right: left.unionByName(right), parts)
    return events.coalesce(1) if source.events is not None and source.events.num_rows <= KEPT_APART else events


def read_events(spark: SparkSession, streams: Sequence[Stream], zone: tzinfo) -> DataFrame:
    """Return the event table of the streams, read by as many tasks as there are cores for."""
    return _read(spark, streams, zone, packed=False)


def read_parcels(spark: SparkSession, streams: Sequence[Stream], zone: tzinfo) -> DataFrame:
    """Return the same events as parcels."""
    return _read(spark, streams, zone, packed=True)


def _read(spark: SparkSession, streams: Sequence[Stream], zone: tzinfo, *, packed: bool) -> DataFrame:
    parts = balanced(streams, max(1, cores(spark) * 2))

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
    """Return how many tasks can run at once."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # noqa: BLE001 - Spark Connect has no context to ask; any error means that
        return int(spark.conf.get("spark.sql.leafNodeDefaultParallelism", "8") or 8)
