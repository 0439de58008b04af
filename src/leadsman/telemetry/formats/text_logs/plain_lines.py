"""Lines of one writer, with or without times: every text that no other format matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.telemetry.file_format import FileFormat
from leadsman.telemetry.format import RecognisedFormat

if TYPE_CHECKING:
    from leadsman.telemetry.file_format import FileSample


def _reader(sample: FileSample, _match: object) -> RecognisedFormat:
    return RecognisedFormat(sample.timestamp_names, sample.timestamps.time_at, sample.is_zoned)


FORMAT = FileFormat(name="plain lines", priority=1000, matches=lambda _sample: True, reader=_reader)
