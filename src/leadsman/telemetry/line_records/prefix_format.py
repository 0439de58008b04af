"""Declares a format of text lines whose prefix names the writer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from leadsman.telemetry.file_format import FileFormat
from leadsman.telemetry.format import RecognisedFormat
from leadsman.telemetry.line_records import interleaved, interleaved_columns
from leadsman.telemetry.timestamps.timestamp_format import after_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from leadsman.telemetry.file_format import FileSample
    from leadsman.telemetry.line_records.interleaved import Prefix
    from leadsman.telemetry.record_batch import LogRecordBatch
    from leadsman.telemetry.timestamps.line_timestamps import LineTimestamps

    BatchReader = Callable[[Prefix, LineTimestamps], Callable[[Iterable[bytes]], Iterator[LogRecordBatch]]]


def prefix_format(
    prefix: Prefix, *, priority: int, batch_reader: BatchReader = interleaved_columns.reader
) -> FileFormat:
    """Return the format of lines with this prefix. `batch_reader` reads them many at a time."""
    return FileFormat(
        name=prefix.name,
        priority=priority,
        matches=partial(_matches, prefix),
        reader=partial(_reader, prefix, batch_reader),
    )


def _matches(prefix: Prefix, sample: FileSample) -> bool:
    return interleaved.has_prefix(prefix, sample.nonblank_lines if prefix.is_stripped else sample.timed_lines)


def _reader(prefix: Prefix, batch_reader: BatchReader, sample: FileSample, _match: object) -> RecognisedFormat:
    if prefix.is_stripped:
        sample = sample.with_lines(interleaved.strip_prefix(prefix, sample.lines))
    timestamps = sample.timestamps
    time_at = after_pattern(prefix.pattern.pattern, timestamps.time_at) if prefix.is_stripped else timestamps.time_at
    return RecognisedFormat(
        tuple(dict.fromkeys((prefix.name, *sample.timestamp_names))),
        time_at,
        sample.is_zoned,
        interleaved.reader(prefix, timestamps.time_at),
        batch_reader(prefix, timestamps),
    )
