"""The event table: one row a fact, whichever client, broker or log it came from."""

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


class Row(NamedTuple):
    """One event as the reader makes it.

    `capture` is the path that the user gave; `file` is relative to it; `line` counts from 1. `at` is in milliseconds
    since 1970 UTC. `subject` is whoever wrote the line: a log stream, container, pod, host or file. The unit of
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


ARROW = pa.schema(
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

SPARK = (
    "capture string, at timestamp, subject string, source string, name string, file string, line long, text string, "
    "value double, labels map<string,string>"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Many events of one name, column by column; a label is None where an event has it not.

    One subject or file instead of many is that of all.
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


def batches(told: Iterable[Row | pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Gather rows, and batches that are made already, into batches of a good size."""
    rows: list[Row] = []
    made: list[pa.RecordBatch] = []
    count = 0
    for each in told:
        if isinstance(each, Row):
            rows.append(each)
            count += 1
        else:
            made.append(each)
            count += each.num_rows
        if count >= ROWS_A_BATCH:
            yield _together(rows, made)
            rows, made, count = [], [], 0
    if count:
        yield _together(rows, made)


def _together(rows: Sequence[Row], made: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    every = [*([to_batch(rows)] if rows else []), *made]
    return every[0] if len(every) == 1 else cast("Any", pa).concat_batches(every)  # its types do not know it


def to_batch(rows: Sequence[Row]) -> pa.RecordBatch:
    """Return the rows as one Arrow batch in the table's schema, secrets masked: here every row leaves the reader.

    Columns are made out of buffers: `pa.array` would load pandas first, a second of each worker's start.
    """
    capture, at, subject, source, name, file, line, text, value, labels = zip(*rows, strict=True)
    columns = [
        _texts(capture),
        _numbers([None if ms is None else ms * 1000 for ms in at], ARROW.field("at").type),
        *map(_texts, (subject, source, name, file)),
        _numbers(line, pa.int64()),
        _texts(_masked(text)),
        _numbers(value, pa.float64()),
        _pairs(labels),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=ARROW)


def from_columns(columns: Columns) -> pa.RecordBatch:
    """Return the events as one Arrow batch in the table's schema."""
    count = len(columns.lines)
    held = [
        _same(columns.capture, count),
        _numbers([None if ms is None else ms * 1000 for ms in columns.at], ARROW.field("at").type),
        _same(columns.subjects, count) if isinstance(columns.subjects, str) else _texts(columns.subjects),
        _texts([None] * count) if columns.source is None else _same(columns.source, count),
        _same(columns.name, count),
        _same(columns.file, count) if isinstance(columns.file, str) else _texts(columns.file),
        pa.Array.from_buffers(pa.int64(), count, [None, _buffer(columns.lines)]),
        _texts(columns.texts),
        _numbers(columns.values, pa.float64()),
        _label_columns(columns.labels, count),
    ]
    return pa.RecordBatch.from_arrays(held, schema=ARROW)


def texts(columns: Mapping[str, Sequence[str | None]]) -> pa.Table:
    """Return a table of texts, with these columns."""
    return pa.Table.from_arrays([_texts(column) for column in columns.values()], names=list(columns))


def _masked(texts: Sequence[str | None]) -> list[str | None]:
    there = iter(mask_all([text for text in texts if text is not None]))
    return [None if text is None else next(there) for text in texts]


def _same(text: str, count: int) -> pa.Array[Any]:
    return _over([text], count)


def _over(texts: Sequence[str], times: int) -> pa.Array[Any]:
    """Return the texts, one after another, over and over."""
    encoded = [text.encode("utf-8", "replace") for text in texts]
    lengths = np.tile(np.array(list(map(len, encoded)), np.int32), times)
    return pa.Array.from_buffers(
        pa.string(), len(lengths), [None, _ends(lengths), pa.py_buffer(b"".join(encoded) * times)]
    )


def _label_columns(labels: Mapping[str, Sequence[str | None]], count: int) -> pa.Array[Any]:
    """Return the column of maps: event by event, the labels that it has."""
    if not labels:
        return _pairs([{}] * count)
    texts = list(chain.from_iterable(zip(*labels.values(), strict=True)))
    if None not in texts:
        return _maps(np.arange(count + 1, dtype=np.int32) * len(labels), _over(list(labels), count), texts)
    keys = list(chain.from_iterable(repeat(list(labels), count)))
    there = np.fromiter((text is not None for text in texts), np.bool_, len(texts))
    offsets = np.concatenate(([0], np.cumsum(there.reshape(count, len(labels)).sum(axis=1)))).astype(np.int32)
    keys = [key for key, text in zip(keys, texts, strict=True) if text is not None]
    return _maps(offsets, _texts(keys), [text for text in texts if text is not None])


def _texts(values: Sequence[str | None]) -> pa.Array[Any]:
    there = ["" if value is None else value for value in values] if None in values else cast("Sequence[str]", values)
    held = "".join(there).encode("utf-8", "replace")
    lengths = np.fromiter(map(len, there), np.int32, len(there))
    if lengths.sum() != len(held):  # not only ASCII: a character can be several bytes
        lengths = np.fromiter((len(text.encode("utf-8", "replace")) for text in there), np.int32, len(there))
    return pa.Array.from_buffers(pa.string(), len(there), [_valid(values), _ends(lengths), pa.py_buffer(held)])


def _ends(lengths: NDArray[np.int32]) -> pa.Buffer:
    """Return where each text begins and the last one ends."""
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return _buffer(offsets)


def _numbers(values: Sequence[float | None], kind: pa.DataType) -> pa.Array[Any]:
    there = [value or 0 for value in values] if None in values else values
    held = np.array(there, np.float64 if kind == pa.float64() else np.int64)
    return pa.Array.from_buffers(kind, len(values), [_valid(values), _buffer(held)])


def _valid(values: Sequence[object]) -> pa.Buffer | None:
    """Return a bit for each value that is there; None where all are."""
    if None not in values:
        return None
    there = np.fromiter((value is not None for value in values), np.bool_, len(values))
    return _buffer(np.packbits(there, bitorder="little"))


def _buffer(array: NDArray[Any]) -> pa.Buffer:
    return pa.py_buffer(cast("Any", array))  # Arrow's types do not know NumPy's


def _pairs(labels: Sequence[Mapping[str, str]]) -> pa.Array[Any]:
    offsets = np.fromiter(accumulate(map(len, labels), initial=0), np.int32, len(labels) + 1)
    texts = mask_all([text for pairs in labels for text in pairs.values()])
    return _maps(offsets, _texts(list(chain.from_iterable(labels))), texts)


def _maps(offsets: NDArray[np.int32], keys: pa.Array[Any], texts: Sequence[str | None]) -> pa.Array[Any]:
    held = pa.Array.from_buffers(pa.int32(), len(offsets), [None, _buffer(offsets)])
    column: pa.Array[Any] = cast("Any", pa.MapArray).from_arrays(held, keys, _texts(texts))
    return column
