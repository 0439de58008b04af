"""JSON lines of several writers: Filebeat and Kibana exports, journald, Loki. Those of one writer are plain lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.telemetry.file_format import FileFormat
from leadsman.telemetry.format import RecognisedFormat
from leadsman.telemetry.json_records import line_columns, line_reader

if TYPE_CHECKING:
    from leadsman.telemetry.file_format import FileSample

MIN_SHARE = 0.5
"""Share of the lines that are JSON objects."""


def is_mostly_json(sample: FileSample) -> bool:
    """Whether enough of the first lines are JSON objects."""
    return bool(sample.json_objects) and len(sample.json_objects) >= MIN_SHARE * sample.nonblank_beginnings


def _matches(sample: FileSample) -> str | None:
    """Return the path at which a line names its writer."""
    return line_reader.writer_path(sample.json_objects) if is_mostly_json(sample) else None


def _reader(sample: FileSample, path: str) -> RecognisedFormat:
    timestamps = sample.timestamps
    records = line_reader.LineReader(path, timestamps.time_at)
    batches = line_columns.reader(path, timestamps) if timestamps.only_json_reads_json else None
    return RecognisedFormat(sample.timestamp_names, timestamps.time_at, sample.is_zoned, records, batches)


FORMAT = FileFormat(name="JSON lines", priority=610, matches=_matches, reader=_reader)
