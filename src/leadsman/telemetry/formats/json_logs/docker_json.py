"""Docker's json-file log, where it holds lines that were cut at 16 KiB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.telemetry.file_format import FileFormat
from leadsman.telemetry.format import RecognisedFormat
from leadsman.telemetry.formats.json_logs.json_lines import is_mostly_json
from leadsman.telemetry.json_records import line_reader

if TYPE_CHECKING:
    from leadsman.telemetry.file_format import FileSample


def _matches(sample: FileSample) -> bool:
    if not is_mostly_json(sample):
        return False
    logs = [log for record in sample.json_objects if isinstance(log := record.get("log"), str) and "stream" in record]
    return any(log[-1:] != "\n" for log in logs)


def _reader(sample: FileSample, _match: object) -> RecognisedFormat:
    time_at = sample.timestamps.time_at
    return RecognisedFormat(sample.timestamp_names, time_at, sample.is_zoned, line_reader.docker_reader(time_at))


FORMAT = FileFormat(name="Docker json-file", priority=600, matches=_matches, reader=_reader)
