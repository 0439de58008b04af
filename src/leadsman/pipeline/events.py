"""The event table: one row a fact, whichever client, broker or log it came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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
    """Return the rows as one Arrow batch in the table's schema."""
    capture, at, subject, source, name, file, line, text, value, labels = zip(*rows, strict=True)
    columns = (
        capture,
        [None if ms is None else ms * 1000 for ms in at],
        subject,
        source,
        name,
        file,
        line,
        text,
        value,
        [list(pairs.items()) for pairs in labels],
    )
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=ARROW)
