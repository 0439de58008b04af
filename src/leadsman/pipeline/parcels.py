"""Events as Spark carries them from the tasks that read to those that diagnose: some thousands in one binary value.

As rows, each event goes out of Arrow, through the JVM's own format, into Spark's cache, through a shuffle and back:
200 microseconds of processor time, of which nothing but the capture that it belongs to is looked at. A parcel holds
the events of one capture as a compressed Arrow stream. What Spark SQL is to query is made rows again (`opened`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from leadsman.pipeline.events import ARROW, SPARK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

PARCEL = pa.schema(
    [  # type: ignore[arg-type]  # the stubs do not know that pairs do
        ("capture", pa.string()),
        ("count", pa.int64()),
        ("events", pa.binary()),
    ],
)
PARCEL_IN_SPARK = "capture string, count long, events binary"

COMPRESSION: Literal["zstd"] = "zstd"
"""Events shrink to a tenth, at 400 MB/s; every build of Arrow has it."""


def parcels(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches of events as batches of parcels, one of each capture."""
    for batch in batches:
        yield _batch([(capture, _packed(events)) for capture, events in _by_capture(batch)])


def unpacked(held: pa.Table) -> pa.Table:
    """Return the events of parcels."""
    tables = [_opened(each.as_buffer()) for each in held.column("events")]
    return pa.concat_tables(tables) if tables else ARROW.empty_table()


def opened(held: DataFrame) -> DataFrame:
    """Return the event table of a frame of parcels."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from leadsman.pipeline.parcels import unpacked  # noqa: PLC0415 - runs on the executor

        for batch in batches:
            for number in range(batch.num_rows):
                yield from unpacked(pa.Table.from_batches([batch.slice(number, 1)])).to_batches()

    return held.mapInArrow(read, SPARK)


def _by_capture(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    captures = batch.column("capture")
    different: list[Any] = captures.unique().to_pylist()
    for capture in different:
        yield capture, batch if len(different) == 1 else batch.filter(pc.equal(captures, capture))


def _packed(events: pa.RecordBatch) -> tuple[int, bytes]:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, ARROW, options=pa.ipc.IpcWriteOptions(compression=COMPRESSION)) as writer:
        writer.write_batch(events)
    return events.num_rows, sink.getvalue().to_pybytes()


def _opened(parcel: pa.Buffer) -> pa.Table:
    return pa.ipc.open_stream(parcel).read_all()


def _batch(held: list[tuple[str, tuple[int, bytes]]]) -> pa.RecordBatch:
    rows = [{"capture": capture, "count": count, "events": events} for capture, (count, events) in held]
    return pa.RecordBatch.from_pylist(rows, schema=PARCEL)
