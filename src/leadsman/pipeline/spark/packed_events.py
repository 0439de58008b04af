"""Packed events: some thousands of events of one capture in one binary value, a compressed Arrow stream.

Spark moves packed events from the tasks that read files to the tasks that diagnose. As rows, each event would go from
Arrow through the JVM's own format into Spark's cache, through a shuffle and back: 200 microseconds of CPU time, where
Spark needs only the capture. Events that Spark SQL queries are unpacked into rows (`unpack_frame`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from leadsman.pipeline.events import ARROW_SCHEMA, SPARK_DDL, text_table
from leadsman.pipeline.spark.pyspark_startup import map_in_arrow

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from pyspark.sql import DataFrame

PACKED_EVENTS = pa.schema(
    [  # type: ignore[arg-type]  # the stubs do not know that pairs do
        ("capture", pa.string()),
        ("count", pa.int64()),
        ("events", pa.binary()),
    ],
)
PACKED_EVENTS_DDL = "capture string, count long, events binary"

COMPRESSION: Literal["zstd"] = "zstd"
"""Events shrink to a tenth, at 400 MB/s. Every build of Arrow includes zstd."""

MIN_COMPRESSED_BYTES = 4 << 10
"""Fewer bytes stay as they are: beside the schema of 2 KB they would not shrink. To compress the buffers of a batch
takes 0.3 ms whatever they hold, and as much to read them; plain ones take 0.02 ms. A trigger of a watch has a batch or
two for each writer."""


def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches of packed events for batches of events: one row for each capture of a batch."""
    for batch in batches:
        yield _batch([(capture, _compress(events)) for capture, events in _by_capture(batch)])


def unpack(packed: pa.Table) -> pa.Table:
    """Return the events of packed events."""
    tables = [decompress(each.as_buffer()) for each in packed.column("events")]
    return pa.concat_tables(tables) if tables else ARROW_SCHEMA.empty_table()


def unpack_frame(packed: DataFrame, names: Collection[str] = ()) -> DataFrame:
    """Return the event table of a frame of packed events; with `names`, the events of these names alone.

    The JVM takes microseconds for each event that it is handed, as many as all of a query of rare events.
    """
    selected = text_table({"name": sorted(names)}).column("name")

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from leadsman.pipeline.spark.packed_events import unpack

        for batch in batches:
            for number in range(batch.num_rows):
                events = unpack(pa.Table.from_batches([batch.slice(number, 1)]))
                if len(selected):
                    events = events.filter(pc.is_in(events.column("name"), value_set=selected))
                yield from events.to_batches()

    return map_in_arrow(packed, read, SPARK_DDL)


def _by_capture(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    captures = batch.column("capture")
    distinct: list[Any] = captures.unique().to_pylist()
    for capture in distinct:
        yield capture, batch if len(distinct) == 1 else batch.filter(pc.equal(captures, capture))


def _compress(events: pa.RecordBatch) -> tuple[int, bytes]:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=COMPRESSION if events.nbytes >= MIN_COMPRESSED_BYTES else None)
    with pa.ipc.new_stream(sink, ARROW_SCHEMA, options=options) as writer:
        writer.write_batch(events)
    return events.num_rows, sink.getvalue().to_pybytes()


def decompress(stream: pa.Buffer) -> pa.Table:
    """Return the events of one packed value."""
    return pa.ipc.open_stream(stream).read_all()


def _batch(packed: list[tuple[str, tuple[int, bytes]]]) -> pa.RecordBatch:
    rows = [{"capture": capture, "count": count, "events": events} for capture, (count, events) in packed]
    return pa.RecordBatch.from_pylist(rows, schema=PACKED_EVENTS)
