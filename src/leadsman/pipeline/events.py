"""The event table: one row a fact, whichever client, broker or log it came from."""

from __future__ import annotations

from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


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


def to_batch(rows: Sequence[Row]) -> pa.RecordBatch:
    """Return the rows as one Arrow batch in the table's schema.

    Columns are made out of buffers: `pa.array` would load pandas first, a second of each worker's start.
    """
    capture, at, subject, source, name, file, line, text, value, labels = zip(*rows, strict=True)
    columns = [
        _texts(capture),
        _numbers([None if ms is None else ms * 1000 for ms in at], ARROW.field("at").type),
        *map(_texts, (subject, source, name, file)),
        _numbers(line, pa.int64()),
        _texts(text),
        _numbers(value, pa.float64()),
        _pairs(labels),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=ARROW)


def _texts(values: Sequence[str | None]) -> pa.Array[Any]:
    encoded = [b"" if value is None else value.encode("utf-8", "replace") for value in values]
    offsets = np.fromiter(accumulate(map(len, encoded), initial=0), np.int32, len(encoded) + 1)
    buffers = [_valid(values), _buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), buffers)


def _numbers(values: Sequence[float | None], kind: pa.DataType) -> pa.Array[Any]:
    held = np.array([value or 0 for value in values], np.float64 if kind == pa.float64() else np.int64)
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
    held = pa.Array.from_buffers(pa.int32(), len(offsets), [None, _buffer(offsets)])
    keys = list(chain.from_iterable(labels))
    texts = [text for pairs in labels for text in pairs.values()]
    column: pa.Array[Any] = cast("Any", pa.MapArray).from_arrays(held, _texts(keys), _texts(texts))
    return column
