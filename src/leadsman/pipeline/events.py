"""The event table: one row for each fact, from any client, broker or log."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, chain, compress, repeat
from operator import is_not
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

from leadsman.pipeline.garbage_collection import rare_garbage_collection
from leadsman.redaction import mask_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray


ROWS_A_BATCH = 20_000
"""Some 30 MB as rows and as columns."""

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

    Single values apply to all events: a subject, a file, a time, a label. Without `values` no event has one.
    """

    capture: str
    source: str | None
    name: str
    file: str | Sequence[str]
    at: int | Sequence[int | None] | None
    subjects: str | Sequence[str | None] | None
    lines: NDArray[np.int64]
    texts: Sequence[str | None]
    values: Sequence[float | None] | NDArray[np.float64]
    labels: Mapping[str, str | Sequence[str | None]]


def batches(events: Iterable[EventRow | pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Combine rows, and batches that exist already, into batches of `ROWS_A_BATCH` events or more."""
    rows: list[EventRow] = []
    ready: list[pa.RecordBatch] = []
    count = 0
    with rare_garbage_collection():
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


def from_columns(*parts: ColumnarEvents) -> pa.RecordBatch:
    """Return the events as one Arrow batch in the table's schema, those of each part in their order."""
    counts = [len(part.lines) for part in parts]
    arrays = [
        _repeated([part.capture for part in parts], counts),
        _times_of(parts, counts),
        _text_runs([part.subjects for part in parts], counts),
        _repeated([part.source for part in parts], counts),
        _repeated([part.name for part in parts], counts),
        _text_runs([part.file for part in parts], counts),
        _fixed(np.concatenate([part.lines for part in parts]), pa.int64()),
        _texts([text for part in parts for text in part.texts] if len(parts) > 1 else parts[0].texts),
        _values_of(parts, counts),
        _labels_of(parts, counts),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=ARROW_SCHEMA)


def text_table(columns: Mapping[str, Sequence[str | None]]) -> pa.Table:
    """Return a table with these columns of text."""
    return pa.Table.from_arrays([_texts(column) for column in columns.values()], names=list(columns))


def _masked(texts: Sequence[str | None]) -> list[str | None]:
    masked = iter(mask_all([text for text in texts if text is not None]))
    return [None if text is None else next(masked) for text in texts]


def _text_runs(columns: Sequence[str | Sequence[str | None] | None], counts: Sequence[int]) -> pa.Array[Any]:
    """Return the columns one below the other. A single text applies to all of its events."""
    single = [column for column in columns if column is None or isinstance(column, str)]
    if len(single) == len(columns):
        return _repeated(single, counts)
    pairs = zip(columns, counts, strict=True)
    listed = ([column] * count if column is None or isinstance(column, str) else column for column, count in pairs)
    return _texts(list(chain.from_iterable(listed)))


def _repeated(texts: Sequence[str | None], counts: Sequence[int]) -> pa.Array[Any]:
    """Return each text as often as its count says."""
    encoded = [(text or "").encode("utf-8", "replace") for text in texts]
    lengths = np.repeat(np.array(list(map(len, encoded)), np.int32), counts)
    data = b"".join(text * count for text, count in zip(encoded, counts, strict=True))
    is_valid = np.repeat([text is not None for text in texts], counts) if None in texts else None
    return _text_array(lengths, data, is_valid)


def _times_of(parts: Sequence[ColumnarEvents], counts: Sequence[int]) -> pa.Array[Any]:
    at = np.concatenate([_milliseconds(part.at, count) for part, count in zip(parts, counts, strict=True)])
    is_valid = (at >= 0) & (at < TIMES.stop)
    return _fixed(np.where(is_valid, at, 0) * 1000, ARROW_SCHEMA.field("at").type, is_valid)


def _milliseconds(at: int | Sequence[int | None] | None, count: int) -> NDArray[np.int64]:
    """Return times, a negative one for those that an event does not keep."""
    if at is None or isinstance(at, int):
        return np.full(count, at if at is not None and 0 <= at < TIMES.stop else -1, np.int64)
    try:
        return np.array(at, np.int64)
    except (OverflowError, TypeError):  # some are missing, or too large for 64 bits
        return np.array([ms if ms is not None and 0 <= ms < TIMES.stop else -1 for ms in at], np.int64)


def _values_of(parts: Sequence[ColumnarEvents], counts: Sequence[int]) -> pa.Array[Any]:
    pairs = list(zip(parts, counts, strict=True))
    is_valid = np.concatenate([_present(part.values if len(part.values) else [None], count) for part, count in pairs])
    numbers = np.zeros(sum(counts))
    ends = accumulate(counts)
    for (part, count), end in zip(pairs, ends, strict=True):
        if len(part.values):
            numbers[end - count : end] = _zero_for_none(part.values)
    return _fixed(numbers, pa.float64(), is_valid)


def _present(values: Sequence[object] | NDArray[Any], count: int) -> NDArray[np.bool_]:
    """Return which of the values are there; a single value applies to all events."""
    if isinstance(values, np.ndarray) or None not in values:
        return np.ones(count, np.bool_)
    is_there = np.fromiter(map(is_not, values, repeat(None)), np.bool_, len(values))
    return is_there if len(values) == count else np.repeat(is_there, count)


class _Labels(NamedTuple):
    """The labels of some events: how many each has, all keys and all texts in their order, and their lengths."""

    counts: NDArray[np.int32]
    key_lengths: NDArray[np.int32]
    keys: bytes
    lengths: NDArray[np.int32]
    texts: bytes


def _labels_of(parts: Sequence[ColumnarEvents], counts: Sequence[int]) -> pa.Array[Any]:
    """Return the column of maps: the labels of each event."""
    labels = [_labels(part.labels, count) for part, count in zip(parts, counts, strict=True)]
    keys = _text_array(np.concatenate([each.key_lengths for each in labels]), b"".join(each.keys for each in labels))
    texts = _text_array(np.concatenate([each.lengths for each in labels]), b"".join(each.texts for each in labels))
    return _maps(_running_sum(np.concatenate([each.counts for each in labels])), keys, texts)


def _labels(columns: Mapping[str, str | Sequence[str | None]], count: int) -> _Labels:
    present = {name: each for name, each in columns.items() if isinstance(each, str) or each.count(None) < count}
    names = [name.encode("utf-8", "replace") for name in present]
    key_lengths = np.tile(np.array(list(map(len, names)), np.int32), count)
    counts, keys = np.full(count, len(names), np.int32), b"".join(names) * count
    if all(isinstance(each, str) for each in present.values()):
        lengths, data = _encoded(cast("list[str]", list(present.values())))
        return _Labels(counts, key_lengths, keys, np.tile(lengths, count), data * count)
    listed = [[each] * count if isinstance(each, str) else each for each in present.values()]
    texts = list(chain.from_iterable(zip(*listed, strict=True)))
    if None in texts:
        is_there = _present(texts, len(texts))
        keys = b"".join(compress(names * count, is_there.tolist()))
        counts = is_there.reshape(count, len(names)).sum(axis=1, dtype=np.int32)
        key_lengths, texts = key_lengths[is_there], [text for text in texts if text is not None]
    return _Labels(counts, key_lengths, keys, *_encoded(cast("list[str]", texts)))


def _texts(values: Sequence[str | None]) -> pa.Array[Any]:
    texts = ["" if value is None else value for value in values] if None in values else cast("Sequence[str]", values)
    return _text_array(*_encoded(texts), _present(values, len(values)) if None in values else None)


def _encoded(texts: Sequence[str]) -> tuple[NDArray[np.int32], bytes]:
    """Return the length of each text in UTF-8, and all of them one after the other."""
    data = "".join(texts).encode("utf-8", "replace")
    lengths = np.fromiter(map(len, texts), np.int32, len(texts))
    if lengths.sum() != len(data):  # not only ASCII: a character can be several bytes
        lengths = np.fromiter((len(text.encode("utf-8", "replace")) for text in texts), np.int32, len(texts))
    return lengths, data


def _text_array(lengths: NDArray[np.int32], data: bytes, is_valid: NDArray[np.bool_] | None = None) -> pa.Array[Any]:
    buffers = [_bitmap(is_valid), _offsets(lengths), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(lengths), buffers)


def _fixed(numbers: NDArray[Any], kind: pa.DataType, is_valid: NDArray[np.bool_] | None = None) -> pa.Array[Any]:
    return pa.Array.from_buffers(kind, len(numbers), [_bitmap(is_valid), _buffer(numbers)])


def _bitmap(is_valid: NDArray[np.bool_] | None) -> pa.Buffer | None:
    """Return a bit for each value; None where every value is there."""
    if is_valid is None or is_valid.all():
        return None
    return _buffer(np.packbits(is_valid, bitorder="little"))


def _offsets(lengths: NDArray[np.int32]) -> pa.Buffer:
    """Return the offsets at which each text begins, and the end of the last one."""
    return _buffer(_running_sum(lengths))


def _running_sum(numbers: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the sums of the numbers before each place, and of all."""
    sums = np.zeros(len(numbers) + 1, np.int32)
    np.cumsum(numbers, out=sums[1:])
    return sums


def _times(at: Sequence[int | None]) -> pa.Array[Any]:
    micros = [None if ms is None or not 0 <= ms < TIMES.stop else int(ms) * 1000 for ms in at]
    return _numbers(micros, ARROW_SCHEMA.field("at").type)


def _numbers(values: Sequence[float | None], kind: pa.DataType) -> pa.Array[Any]:
    data = np.array(_zero_for_none(values), np.float64 if kind == pa.float64() else np.int64)
    return _fixed(data, kind, _present(values, len(values)))


def _zero_for_none(values: Sequence[float | None] | NDArray[Any]) -> Sequence[float] | NDArray[Any]:
    """Return the numbers with 0 where there is none; a number stays as it is, -0.0 too."""
    if isinstance(values, np.ndarray) or None not in values:
        return cast("Sequence[float]", values)
    return [0 if value is None else value for value in values]


def _buffer(array: NDArray[Any]) -> pa.Buffer:
    return pa.py_buffer(cast("Any", array))  # Arrow's type stubs lack NumPy's arrays


def _pairs(labels: Sequence[Mapping[str, str]]) -> pa.Array[Any]:
    offsets = np.fromiter(accumulate(map(len, labels), initial=0), np.int32, len(labels) + 1)
    texts = mask_all([text for pairs in labels for text in pairs.values()])
    return _maps(offsets, _texts(list(chain.from_iterable(labels))), _texts(texts))


def _maps(offsets: NDArray[np.int32], keys: pa.Array[Any], texts: pa.Array[Any]) -> pa.Array[Any]:
    offset_array = pa.Array.from_buffers(pa.int32(), len(offsets), [None, _buffer(offsets)])
    column: pa.Array[Any] = cast("Any", pa.MapArray).from_arrays(offset_array, keys, texts)
    return column
