"""A file of sections, each under a line with the time, the subject and the command of its collection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.sections import has_sections
from leadsman.telemetry.file_format import FileFormat
from leadsman.telemetry.format import RecognisedFormat, no_time

if TYPE_CHECKING:
    from leadsman.telemetry.file_format import FileSample


def _reader(sample: FileSample, _match: object) -> RecognisedFormat:
    return RecognisedFormat(("sections",), no_time, zoned=True, recognise_section=sample.recognise_section)


FORMAT = FileFormat(
    name="sections",
    priority=0,
    matches=lambda sample: has_sections(sample.head),
    reader=_reader,
    in_sections=False,
)
