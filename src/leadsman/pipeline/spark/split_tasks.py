"""Tasks that read splits of streams, and tasks that merge their states: one shuffle, of packed events and states.

Rows are shuffled by `shuffle_key`. The states of one stream have the same key, so that one task gets all of them.
Packed events only pass through, spread out by the split that they come from.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from leadsman.pipeline.events import batches as gathered
from leadsman.pipeline.read.split_reading import SplitState, read_split, remaining_events
from leadsman.pipeline.read.splits import Split
from leadsman.pipeline.read.stream import read
from leadsman.pipeline.scope.streams import balance_streams
from leadsman.pipeline.spark.packed_events import PACKED_EVENTS, PACKED_EVENTS_DDL, pack
from leadsman.pipeline.spark.pyspark_startup import map_in_arrow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import tzinfo

    from pyspark.sql import DataFrame, SparkSession

    from leadsman.pipeline.events import EventRow
    from leadsman.pipeline.read.splits import SplitStream
    from leadsman.pipeline.scope.streams import Stream

KEYS = pa.schema(
    [  # type: ignore[arg-type]  # the stubs do not know that pairs do
        ("shuffle_key", pa.int32()),
        ("stream", pa.int32()),
        ("number", pa.int32()),
        ("state", pa.binary()),
    ],
)
SHUFFLED = pa.schema([*KEYS, *PACKED_EVENTS])
SHUFFLED_IN_SPARK = f"shuffle_key int, stream int, number int, state binary, {PACKED_EVENTS_DDL}"


class Work(NamedTuple):
    """What a task reads: a whole stream, or a split of the stream of this number."""

    item: Stream | Split
    stream: int | None
    shuffle_key: int

    @property
    def capture(self) -> str:
        """The capture that it is of."""
        return self.item.capture

    @property
    def name(self) -> str:
        """Its name, unique in the capture."""
        return self.item.name

    @property
    def bytes(self) -> int:
        """Bytes on disk."""
        return self.item.bytes


def read_split_streams(
    spark: SparkSession, whole: Sequence[Stream], split: Sequence[SplitStream], zone: tzinfo, *, tasks: int
) -> DataFrame:
    """Return the packed events of streams that one task reads each, and of streams that are split."""
    parts = balance_streams(work_of(whole, split), tasks)

    def read_parts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from leadsman.pipeline.spark.split_tasks import read_work

        for batch in batches:
            numbers: list[Any] = batch.column("id").to_pylist()
            yield from (rows for number in numbers for work in parts[number] for rows in read_work(work, zone))

    def merge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from leadsman.pipeline.spark.split_tasks import merged

        yield from merged(batches, split)

    rows = map_in_arrow(spark.range(0, len(parts), 1, len(parts)), read_parts, SHUFFLED_IN_SPARK)
    return map_in_arrow(rows.repartition(max(1, tasks // 2), "shuffle_key"), merge, PACKED_EVENTS_DDL)


def work_of(whole: Sequence[Stream], split: Sequence[SplitStream]) -> list[Work]:
    """Return all that tasks read, each with a key of its own for its events."""
    items: list[tuple[Stream | Split, int | None]] = [(stream, None) for stream in whole]
    items += [(each, number) for number, stream in enumerate(split) for each in stream.splits]
    return [Work(item, number, key) for key, (item, number) in enumerate(items)]


def read_work(work: Work, zone: tzinfo) -> Iterator[pa.RecordBatch]:
    """Read a stream or a split: yield its packed events, and the split's state."""
    states: list[SplitState] = []
    events = read_split(work.item, zone) if isinstance(work.item, Split) else read(work.item, zone)
    for packed in pack(gathered(_without_states(events, states))):
        yield _shuffled(packed, {"shuffle_key": work.shuffle_key})
    for state in states:
        assert isinstance(work.item, Split)
        keys = {
            "shuffle_key": work.stream,
            "stream": work.stream,
            "number": work.item.number,
            "state": pickle.dumps(state),
        }
        yield _shuffled(pa.RecordBatch.from_pylist([{"capture": work.capture}], schema=PACKED_EVENTS), keys)


def merged(batches: Iterable[pa.RecordBatch], split: Sequence[SplitStream]) -> Iterator[pa.RecordBatch]:
    """Yield packed events as they come; at the end those that the merged states of each stream yield."""
    states: dict[int, dict[int, SplitState]] = {}
    for batch in batches:
        is_packed = pc.is_null(batch.column("state"))
        yield batch.filter(is_packed).select(PACKED_EVENTS.names)
        left: list[Any] = batch.filter(pc.invert(is_packed)).select(KEYS.names).to_pylist()
        for row in left:
            state = pickle.loads(row["state"])  # noqa: S301 - another task of this job wrote it
            states.setdefault(row["stream"], {})[row["number"]] = state
    for stream, found in states.items():
        in_order = [state for _, state in sorted(found.items(), key=lambda each: each[0])]
        yield from pack(gathered(remaining_events(split[stream], in_order)))


def _without_states(
    events: Iterable[EventRow | pa.RecordBatch | SplitState], states: list[SplitState]
) -> Iterator[EventRow | pa.RecordBatch]:
    for each in events:
        if isinstance(each, SplitState):
            states.append(each)
        else:
            yield each


def _shuffled(packed: pa.RecordBatch, keys: dict[str, Any]) -> pa.RecordBatch:
    keys_of_each = pa.RecordBatch.from_pylist([keys] * packed.num_rows, schema=KEYS)
    return pa.RecordBatch.from_arrays([*keys_of_each.columns, *packed.columns], schema=SHUFFLED)
