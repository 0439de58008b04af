"""The output of a program that has a parser, such as `kafka-topics --describe`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.telemetry.file_format import FileFormat
from leadsman.telemetry.format import RecognisedFormat, no_time
from leadsman.telemetry.source import output_source

if TYPE_CHECKING:
    from leadsman.telemetry.file_format import FileSample
    from leadsman.telemetry.source import Source


def _reader(_sample: FileSample, source: Source) -> RecognisedFormat:
    return RecognisedFormat((source.title,), no_time, zoned=True, output_source=source)


FORMAT = FileFormat(
    name="program output",
    priority=100,
    matches=lambda sample: output_source(sample.head),
    reader=_reader,
)
