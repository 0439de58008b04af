"""Whole JSON documents in which there are records: `aws logs`, Loki, Elasticsearch responses, arrays of records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.telemetry.file_format import FileFormat
from leadsman.telemetry.format import RecognisedFormat, no_time
from leadsman.telemetry.json_records import document_columns, documents
from leadsman.telemetry.timestamps.line_timestamps import UNUSED_ZONE

if TYPE_CHECKING:
    from leadsman.telemetry.file_format import FileSample

ZONE_CHECK_BYTES = 64 << 10
"""Bytes of a document whose times are checked for a zone."""


def _reader(sample: FileSample, _match: object) -> RecognisedFormat:
    zone = sample.defaults.zone
    zoned = document_columns.is_zoned(sample.text[:ZONE_CHECK_BYTES], zone, UNUSED_ZONE)
    return RecognisedFormat(("JSON document",), no_time, zoned, documents.reader(zone), document_columns.reader(zone))


FORMAT = FileFormat(
    name="JSON document",
    priority=400,
    matches=lambda sample: documents.is_document(sample.text),
    reader=_reader,
)
