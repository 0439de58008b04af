"""Reads whole JSON documents: `aws logs`, Loki, OTLP, Elasticsearch responses, arrays of records; one line or many."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import UTC
from itertools import chain
from typing import TYPE_CHECKING, Any

from leadsman.telemetry.json_records import json_fields, line_reader, otlp
from leadsman.telemetry.json_records.document_parser import (
    ArrayPaths,
    BrokenDocument,
    DocumentParser,
    Element,
    decode_blocks,
)
from leadsman.telemetry.line_records import text_lines
from leadsman.telemetry.record import Record
from leadsman.telemetry.timestamps import json_times
from leadsman.telemetry.timestamps.parsers import iso_or_epoch_parser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import tzinfo

    from leadsman.telemetry.timestamps.parsers import TimestampParser

WINDOW_CHARACTERS = 32 << 20
"""Characters of records that are sorted by time together: exports come newest first, or stream after stream."""

DOCUMENT_START = re.compile(rb"[\xef\xbb\xbf\s]*(?:\[\s*[\[{]|\{\s*\"|\{\s*\n)")
RECORD_ARRAYS = ArrayPaths(
    entered=frozenset({(), ("hits",), ("data",)}),
    arrays=frozenset(
        {
            (),
            ("events",),
            ("results",),
            ("logEvents",),
            ("hits", "hits"),
            ("data", "result"),
            ("records",),
            ("entries",),
            ("streams",),
            ("resourceLogs",),
        }
    ),
)
IN_UTC = iso_or_epoch_parser(UTC)  # CloudWatch Insights has no other zone
TIME_PATHS = (*json_times.TIME_KEYS, "instant.epochSecond")
DOCUMENT_WRITER_KEYS = ("logStream", "logStreamName")
"""Members of a document that name the writer of all its records."""
SUBJECT_PATHS = (*json_fields.FLEET_KEYS, *json_fields.LOCAL_KEYS)
LOKI_VALUE = re.compile(r'"(\d{16,19})"\s*,\s*' + line_reader.STRING)


def is_document(head: bytes) -> bool:
    """Whether this is the beginning of a document that holds records."""
    if not DOCUMENT_START.match(head):
        return False
    line, newline, _ = head.partition(b"\n")
    if newline and json_fields.parse_object(line) is not None:
        head = line  # a complete object on one line: a document only if it holds records itself
    parser = DocumentParser([head.lstrip(b"\xef\xbb\xbf").decode("utf-8", "replace")], RECORD_ARRAYS, DECODER)
    try:
        first = next(parser.elements(), None)
    except BrokenDocument:
        return parser.is_inside and len(head) >= BLOCK_BYTES  # an element larger than the first block
    return first is not None and (isinstance(first.value, dict) or _cloudwatch_insights(first.value) is not None)


def reader(zone: tzinfo) -> Callable[[Iterable[bytes]], Iterator[Record]]:
    """Read one document as a stream. A broken document ends where it breaks.

    Records come in order of time: all of a document up to `WINDOW_CHARACTERS`, and each such part of a larger one.
    """
    parse_time = iso_or_epoch_parser(zone)

    def records(blocks: Iterable[bytes]) -> Iterator[Record]:
        yield from text_lines.with_record_starts(
            chain.from_iterable(time_windows(parse_records(decode_blocks(blocks), parse_time)))
        )

    return records


def has_written_times(text: str) -> bool:
    """Whether any time in a document is written as a date. Numbers count from 1970 UTC, so that they need no zone."""
    parser = DocumentParser([text], RECORD_ARRAYS, DECODER)
    with suppress(BrokenDocument):
        return any(_has_written_time(element.value) for element in parser.elements())
    return False


def same_times(head: bytes, zone: tzinfo, other: tzinfo) -> bool:
    """Whether the times in a document that begins so are the same with either default zone."""
    first, second = ([record.at for record in reader(each)([head])] for each in (zone, other))
    return first == second


def _has_written_time(value: Any) -> bool:  # noqa: ANN401 - JSON
    if not isinstance(value, dict):
        return True
    record = json_fields.unwrap(value)
    return any(
        isinstance(json_fields.value_at(record, path), str) for path in json_fields.matching_paths(record, TIME_PATHS)
    )


def time_windows(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Yield the records that are sorted by time together, sorted."""
    window: list[Record] = []
    size = 0
    for record in records:
        window.append(record)
        size += len(record.text) + len(record.quote)
        if size > WINDOW_CHARACTERS:
            yield _in_time_order(window)
            window, size = [], 0
    yield _in_time_order(window)


def _in_time_order(records: list[Record]) -> list[Record]:
    timed = all(record.at is not None for record in records)
    return sorted(records, key=lambda record: record.at or 0) if timed else records


def parse_records(pieces: Iterable[str], parse_time: TimestampParser) -> Iterator[Record]:
    """Yield the records of a document's text in the order of the text."""
    parser = DocumentParser(pieces, RECORD_ARRAYS, DECODER)
    try:
        for element in parser.elements():
            yield from element_records(element, parse_time)
    except BrokenDocument:
        return


def element_records(element: Element, parse_time: TimestampParser) -> Iterator[Record]:
    """Yield the records of one element of a document, in the order of its text."""
    raw, line, counted = element.raw, element.line, 0
    for at, subject, message, first, last in parse_element(raw, element.value, parse_time):
        line += raw.count("\n", counted, first)
        counted = first
        worker = subject or json_fields.text_at(element.context, DOCUMENT_WRITER_KEYS)
        yield Record(line, at, worker, message, raw[first:last].split("\n", 1)[0])


ElementRecord = tuple[int | None, str | None, str, int, int]
"""Time, subject, text, and where the text begins and ends in its element."""


def parse_element(raw: str, value: Any, parse_time: TimestampParser) -> Iterator[ElementRecord]:  # noqa: ANN401 - JSON
    """Yield the records in an element of a document, given its literal text and its value."""
    if isinstance(value, dict) and isinstance(value.get("values"), list):
        yield from _loki(raw, value)
        return
    if isinstance(value, dict) and any(name in value for name in otlp.SCOPES):
        yield from _otlp(raw, value)
        return
    insight = _cloudwatch_insights(value)
    record = json_fields.unwrap(value) if isinstance(value, dict) else insight
    if record is None:
        return
    message, texts = line_reader.message_text(record)
    first, last = line_reader.literal_span(raw, texts)
    yield record_time(record, parse_time if insight is None else IN_UTC), record_writer(record), message, first, last


def _loki(raw: str, value: dict[str, Any]) -> Iterator[ElementRecord]:
    labels = value.get("stream")
    subject = line_reader.writer_of_labels(labels) if isinstance(labels, dict) else None
    for match in LOKI_VALUE.finditer(raw):
        message = line_reader.decode_string_at(raw, *match.span(2))
        if message is not None:
            yield int(match[1]) // 1_000_000, subject, message, *match.span(2)


def _cloudwatch_insights(value: Any) -> dict[str, Any] | None:  # noqa: ANN401 - JSON
    """Return a row of CloudWatch Insights, a list of `{"field": "@message", "value": ...}`, as a record."""
    if not isinstance(value, list) or not all(isinstance(cell, dict) and "field" in cell for cell in value):
        return None
    return {str(cell["field"]): cell.get("value") for cell in value}


def _otlp(raw: str, value: dict[str, Any]) -> Iterator[ElementRecord]:
    for record in otlp.log_records(value):
        message, texts = line_reader.message_text(record)
        writer = record_writer(record) or otlp.writer_of(record)
        yield record["time_ms"], writer, message, *line_reader.literal_span(raw, texts)


def record_time(record: dict[str, Any], parse_time: TimestampParser) -> int | None:
    """Return the time of a record (ms since 1970); None where it has none."""
    for path in json_fields.matching_paths(record, TIME_PATHS):
        value = json_fields.value_at(record, path)
        if isinstance(value, str | int | float):
            encoded = str(value).encode("utf-8", "replace")
            at = parse_time(encoded, 0, len(encoded))
            if at is not None:
                return at
    return None


def record_writer(record: dict[str, Any]) -> str | None:
    """Return the writer that a record names; None where it names none."""
    paths = json_fields.matching_paths(record, SUBJECT_PATHS)
    return next((writer for path in paths if (writer := line_reader.writer_name(record, path))), None)


BLOCK_BYTES = 4 << 20
"""The most bytes of a document of one line that the first block holds."""

DECODER = json.JSONDecoder(strict=False)
