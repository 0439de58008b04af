"""Lines of one writer, with or without times: every text that no other format matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.telemetry.file_format import FileFormat
from leadsman.telemetry.format import RecognisedFormat
from leadsman.telemetry.timestamps.line_times import LineTimes

if TYPE_CHECKING:
    from leadsman.telemetry.file_format import FileSample


def _reader(sample: FileSample, _match: object) -> RecognisedFormat:
    timestamps = sample.timestamps
    return RecognisedFormat(
        sample.timestamp_names, timestamps.time_at, sample.is_zoned, line_times=LineTimes(timestamps)
    )


FORMAT = FileFormat(name="plain lines", priority=1000, matches=lambda _sample: True, reader=_reader)
