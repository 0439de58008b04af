"""The event table: one row for each fact, from any client, broker or log."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, chain, repeat
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

from leadsman.redaction import mask_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray


ROWS_A_BATCH = 50_000

TIMES = range(253_370_764_800_000)
"""Milliseconds since 1970, up to the year 9999. Outside, Python and Spark cannot hold a time in every zone, and no
program means it: an event keeps no such time."""


class EventRow(NamedTuple):
    """One event as the reader makes it.

    `capture` is the path that the user gave; `file` is relative to it; `line` counts from 1. `at` is in milliseconds
    since 1970 UTC. `subject` is what wrote the line: a log stream, container, pod, host or file. The unit of
    `value` is the vocabulary's.
    """

    capture: str
    at: int | None
    subject: str | None
    source: str | None
    name: str
    file: str
    line: int
    text: str | None
    value: float | None
    labels: Mapping[str, str]


ARROW_SCHEMA = pa.schema(
    [  # type: ignore[arg-type]  # the stubs do not know that pairs do
        ("capture", pa.string()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("subject", pa.string()),
        ("source", pa.string()),
        ("name", pa.string()),
        ("file", pa.string()),
        ("line", pa.int64()),
        ("text", pa.string()),
        ("value", pa.float64()),
        ("labels", pa.map_(pa.string(), pa.string())),
    ],
)

SPARK_DDL = (
    "capture string, at timestamp, subject string, source string, name string, file string, line long, text string, "
    "value double, labels map<string,string>"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnarEvents:
    """Many events of one name, column by column. A label is None where an event does not have it.

    A single subject or file applies to all events.
    """

    capture: str
    source: str | None
    name: str
    file: str | Sequence[str]
    at: Sequence[int | None]
    subjects: str | Sequence[str | None]
    lines: NDArray[np.int64]
    texts: Sequence[str | None]
    values: Sequence[float | None]
    labels: Mapping[str, Sequence[str | None]]


def batches(events: Iterable[EventRow | pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Combine rows, and batches that exist already, into batches of `ROWS_A_BATCH` events or more."""
    rows: list[EventRow] = []
    ready: list[pa.RecordBatch] = []
    count = 0
    for each in events:
        if isinstance(each, EventRow):
            rows.append(each)
            count += 1
        else:
            ready.append(each)
            count += each.num_rows
        if count >= ROWS_A_BATCH:
            yield _combine(rows, ready)
            rows, ready, count = [], [], 0
    if count:
        yield _combine(rows, ready)


def _combine(rows: Sequence[EventRow], ready: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    every = [*([to_batch(rows)] if rows else []), *ready]
    return every[0] if len(every) == 1 else cast("Any", pa).concat_batches(every)  # its type stubs lack it


def to_batch(rows: Sequence[EventRow]) -> pa.RecordBatch:
    """Return the rows as one Arrow batch in the table's schema, secrets masked: every row leaves the reader here.

    Columns are made out of buffers: `pa.array` would load pandas first, a second of each worker's start.
    """
    capture, at, subject, source, name, file, line, text, value, labels = zip(*rows, strict=True)
    columns = [
        _texts(capture),
        _times(at),
        *map(_texts, (subject, source, name, file)),
        _numbers(line, pa.int64()),
        _texts(_masked(text)),
        _numbers(value, pa.float64()),
        _pairs(labels),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=ARROW_SCHEMA)


def from_columns(columns: ColumnarEvents) -> pa.RecordBatch:
    """Return the events as one Arrow batch in the table's schema."""
    count = len(columns.lines)
    arrays = [
        _constant(columns.capture, count),
        _times(columns.at),
        _constant(columns.subjects, count) if isinstance(columns.subjects, str) else _texts(columns.subjects),
        _texts([None] * count) if columns.source is None else _constant(columns.source, count),
        _constant(columns.name, count),
        _constant(columns.file, count) if isinstance(columns.file, str) else _texts(columns.file),
        pa.Array.from_buffers(pa.int64(), count, [None, _buffer(columns.lines)]),
        _texts(columns.texts),
        _numbers(columns.values, pa.float64()),
        _label_columns(columns.labels, count),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=ARROW_SCHEMA)


def text_table(columns: Mapping[str, Sequence[str | None]]) -> pa.Table:
    """Return a table with these columns of text."""
    return pa.Table.from_arrays([_texts(column) for column in columns.values()], names=list(columns))


def _masked(texts: Sequence[str | None]) -> list[str | None]:
    masked = iter(mask_all([text for text in texts if text is not None]))
    return [None if text is None else next(masked) for text in texts]


def _constant(text: str, count: int) -> pa.Array[Any]:
    return _repeat([text], count)


def _repeat(texts: Sequence[str], times: int) -> pa.Array[Any]:
    """Return the sequence of texts, repeated so many times."""
    encoded = [text.encode("utf-8", "replace") for text in texts]
    lengths = np.tile(np.array(list(map(len, encoded)), np.int32), times)
    return pa.Array.from_buffers(
        pa.string(), len(lengths), [None, _offsets(lengths), pa.py_buffer(b"".join(encoded) * times)]
    )


def _label_columns(labels: Mapping[str, Sequence[str | None]], count: int) -> pa.Array[Any]:
    """Return the column of maps: the labels of each event."""
    if not labels:
        return _pairs([{}] * count)
    texts = list(chain.from_iterable(zip(*labels.values(), strict=True)))
    if None not in texts:
        return _maps(np.arange(count + 1, dtype=np.int32) * len(labels), _repeat(list(labels), count), texts)
    keys = list(chain.from_iterable(repeat(list(labels), count)))
    has_label = np.fromiter((text is not None for text in texts), np.bool_, len(texts))
    offsets = np.concatenate(([0], np.cumsum(has_label.reshape(count, len(labels)).sum(axis=1)))).astype(np.int32)
    keys = [key for key, text in zip(keys, texts, strict=True) if text is not None]
    return _maps(offsets, _texts(keys), [text for text in texts if text is not None])


def _texts(values: Sequence[str | None]) -> pa.Array[Any]:
    texts = ["" if value is None else value for value in values] if None in values else cast("Sequence[str]", values)
    data = "".join(texts).encode("utf-8", "replace")
    lengths = np.fromiter(map(len, texts), np.int32, len(texts))
    if lengths.sum() != len(data):  # not only ASCII: a character can be several bytes
        lengths = np.fromiter((len(text.encode("utf-8", "replace")) for text in texts), np.int32, len(texts))
    return pa.Array.from_buffers(pa.string(), len(texts), [_validity(values), _offsets(lengths), pa.py_buffer(data)])


def _offsets(lengths: NDArray[np.int32]) -> pa.Buffer:
    """Return the offsets at which each text begins, and the end of the last one."""
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return _buffer(offsets)


def _times(at: Sequence[int | None]) -> pa.Array[Any]:
    micros = [None if ms is None or not 0 <= ms < TIMES.stop else int(ms) * 1000 for ms in at]
    return _numbers(micros, ARROW_SCHEMA.field("at").type)


def _numbers(values: Sequence[float | None], kind: pa.DataType) -> pa.Array[Any]:
    numbers = [value or 0 for value in values] if None in values else values
    data = np.array(numbers, np.float64 if kind == pa.float64() else np.int64)
    return pa.Array.from_buffers(kind, len(values), [_validity(values), _buffer(data)])


def _validity(values: Sequence[object]) -> pa.Buffer | None:
    """Return the validity bitmap: a bit for each value that is not None. None where no value is."""
    if None not in values:
        return None
    is_valid = np.fromiter((value is not None for value in values), np.bool_, len(values))
    return _buffer(np.packbits(is_valid, bitorder="little"))


def _buffer(array: NDArray[Any]) -> pa.Buffer:
    return pa.py_buffer(cast("Any", array))  # Arrow's type stubs lack NumPy's arrays


def _pairs(labels: Sequence[Mapping[str, str]]) -> pa.Array[Any]:
    offsets = np.fromiter(accumulate(map(len, labels), initial=0), np.int32, len(labels) + 1)
    texts = mask_all([text for pairs in labels for text in pairs.values()])
    return _maps(offsets, _texts(list(chain.from_iterable(labels))), texts)


def _maps(offsets: NDArray[np.int32], keys: pa.Array[Any], texts: Sequence[str | None]) -> pa.Array[Any]:
    offset_array = pa.Array.from_buffers(pa.int32(), len(offsets), [None, _buffer(offsets)])
    column: pa.Array[Any] = cast("Any", pa.MapArray).from_arrays(offset_array, keys, _texts(texts))
    return column
