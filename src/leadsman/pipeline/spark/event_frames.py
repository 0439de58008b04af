"""From what there is to read to its events: those that are in this process, and those that tasks read.

As rows that Spark SQL queries, or as the packed events (`packed_events.py`) that tasks hand to one another.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from leadsman.interrupt import raise_if_interrupted
from leadsman.pipeline import events as table
from leadsman.pipeline.read.splits import SPLIT_FROM_BYTES, split_streams
from leadsman.pipeline.scope.remote_files import remote_event_frame
from leadsman.pipeline.scope.streams import balance_streams, task_count
from leadsman.pipeline.spark import embedded
from leadsman.pipeline.spark.cached import SEPARATE_FRAME_EVENTS
from leadsman.pipeline.spark.embedded import is_embedded
from leadsman.pipeline.spark.packed_events import PACKED_EVENTS, PACKED_EVENTS_DDL, pack, unpack_frame
from leadsman.pipeline.spark.pyspark_startup import create_frame, map_in_arrow
from leadsman.pipeline.spark.split_tasks import read_split_streams

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo

    from pyspark.sql import DataFrame, SparkSession

    from leadsman.pipeline.request import DiagnosisInput
    from leadsman.pipeline.scope.streams import Stream


def packed_event_frame(spark: SparkSession, inputs: DiagnosisInput) -> DataFrame:
    """Return the packed events of an input: of the events that are here, and of what tasks read where the bytes are."""
    return reduce(lambda left, right: left.unionByName(right), _read(spark, inputs, packed=True))


def event_frame(spark: SparkSession, inputs: DiagnosisInput) -> DataFrame:
    """Return the event table: the events that are here, and what tasks read where the bytes are."""
    if is_embedded(spark):
        assert inputs.events is not None
        return embedded.frame_from_table(inputs.events)
    events = reduce(lambda left, right: left.unionByName(right), _read(spark, inputs, packed=False))
    is_small = inputs.is_in_process and inputs.events is not None and inputs.events.num_rows <= SEPARATE_FRAME_EVENTS
    return events.coalesce(1) if is_small else events


def _read(spark: SparkSession, inputs: DiagnosisInput, *, packed: bool) -> list[DataFrame]:
    remote = [stream for stream in inputs.streams if stream.is_remote]
    local = [stream for stream in inputs.streams if not stream.is_remote]
    tasks = task_count(remote, cores(spark))
    parts = [remote_event_frame(spark, remote, inputs.zone, tasks=tasks, packed=packed)] if remote else []
    if inputs.events is not None and (local or not parts):
        parts.append(create_frame(spark, _packed(inputs.events) if packed else inputs.events))
    elif local:
        parts.append(read_events(spark, local, inputs.zone, packed=packed))
    return parts


def _packed(events: pa.Table) -> pa.Table:
    batches = events.to_batches(max_chunksize=table.ROWS_A_BATCH)
    return pa.Table.from_batches(list(pack(batches)), schema=PACKED_EVENTS)


def read_events(
    spark: SparkSession,
    streams: Sequence[Stream],
    zone: tzinfo,
    *,
    packed: bool = False,
    split_from_bytes: int = SPLIT_FROM_BYTES,
) -> DataFrame:
    """Return the event table of the streams, or its packed events, read by as many tasks as there are cores for.

    Streams of `split_from_bytes` that would keep one core at work when the others are done are read by several tasks.
    """
    if split := split_streams(streams, zone, cores=cores(spark), min_bytes=split_from_bytes):
        whole = [stream for stream in streams if stream not in {each.stream for each in split}]
        read = read_split_streams(spark, whole, split, zone, tasks=task_count(streams, cores(spark)))
        return read if packed else unpack_frame(read)
    parts = balance_streams(streams, task_count(streams, cores(spark)))

    def read_parts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from leadsman.pipeline.events import batches as gathered
        from leadsman.pipeline.read.stream import read
        from leadsman.pipeline.spark.packed_events import pack

        for batch in batches:
            part_numbers: list[Any] = batch.column("id").to_pylist()  # `to_numpy` would load pandas
            event_batches = gathered(
                each for part in part_numbers for stream in parts[part] for each in read(stream, zone)
            )
            yield from pack(event_batches) if packed else event_batches

    ids = spark.range(0, len(parts), 1, max(1, len(parts)))
    return map_in_arrow(ids, read_parts, PACKED_EVENTS_DDL if packed else table.SPARK_DDL)


def cores(spark: SparkSession) -> int:
    """Return how many cores there are for tasks, as far as the session says."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception as error:  # noqa: BLE001 - Spark Connect has no context to ask; any error means that
        raise_if_interrupted(error)
        return int(spark.conf.get("spark.sql.leafNodeDefaultParallelism", "8") or 8)
