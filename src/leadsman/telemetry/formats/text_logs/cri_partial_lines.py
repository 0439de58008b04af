"""Kubernetes CRI logs in which lines were cut: pieces marked P go on until one that is marked F."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman.telemetry.file_format import FileFormat
from leadsman.telemetry.format import RecognisedFormat
from leadsman.telemetry.line_records import interleaved

if TYPE_CHECKING:
    from leadsman.telemetry.file_format import FileSample

PARTIAL = re.compile(rb"[^ ]+ std(?:out|err) P ")


def _reader(sample: FileSample, _match: object) -> RecognisedFormat:
    time_at = sample.timestamps.time_at
    return RecognisedFormat(sample.timestamp_names, time_at, sample.is_zoned, interleaved.cri_reader(time_at))


FORMAT = FileFormat(
    name="Kubernetes CRI, partial lines",
    priority=620,
    matches=lambda sample: any(map(PARTIAL.match, sample.lines)),
    reader=_reader,
)
