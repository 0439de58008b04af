"""The layout of a document's records, learnt from its first two: of `aws logs`, and of CloudWatch Insights."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from leadsman.telemetry.json_records import documents, json_fields
from leadsman.telemetry.json_records.document_parser import SPACE, BrokenDocument, DocumentParser, Element
from leadsman.telemetry.json_records.quote_columns import QuoteTable, RecordLayout, UnsupportedLayout
from leadsman.telemetry.timestamps.timestamp_column import TimestampColumn

KEYS = frozenset({"timestamp", "message", "ingestionTime", "eventId", "logStreamName"})
"""Members of records that are read in columns. Records with other members are read by `documents`."""

FIELDS = frozenset({"@timestamp", "@message", "@ingestionTime", "@logStream", "@log", "@ptr", "@requestId"})
"""Fields of CloudWatch Insights, likewise. None but the first two and the log stream has a meaning to `documents`."""

WRITTEN_TIME = "2026-11-17 01:31:40.535"
"""A time of CloudWatch Insights, in UTC."""


class DocumentLayout(NamedTuple):
    """The layout of a document. `header` is the text before its first record, `writer` the writer of all records.

    `columns` of `record` holds `time`, `message` and, where records name their writers, `subject`. Times are written as
    `timestamps` reads them; None where they are milliseconds since 1970.
    """

    header: str
    record: RecordLayout
    writer: str | None
    time: str
    message: str
    subject: str
    timestamps: TimestampColumn | None


@lru_cache(1)
def quote_table(layout: RecordLayout, data: bytes, start: int) -> QuoteTable:
    """Cache the last table: all of a small document is needed to recognise it, and again to read it."""
    return layout.quote_table(data, start)


@lru_cache(1)
def document_layout(text: str) -> DocumentLayout | None:
    """Return the layout of a document whose records can be read in columns; None for any other document."""
    parser = DocumentParser([text], documents.RECORD_ARRAYS, documents.DECODER)
    elements: list[tuple[Element, int]] = []
    try:
        for element in parser.elements():
            elements.append((element, parser.position))
            if len(elements) > 1:
                break
    except BrokenDocument:
        return None
    if len(elements) < 2:  # noqa: PLR2004 - the text between records is learnt from two
        return None
    (first, end), (second, second_end) = elements
    between = text[end : second_end - len(second.raw)]
    if not SPACE.fullmatch(between) or not (_is_event(first.value) or _is_row(first.value)):
        return None
    try:
        record = RecordLayout(first.raw.encode(), *_strings(first.value), between=between.encode())
    except UnsupportedLayout:
        return None
    header, writer = text[: end - len(first.raw)], json_fields.text_at(first.context, documents.DOCUMENT_WRITER_KEYS)
    if isinstance(first.value, dict):
        return DocumentLayout(header, record, writer, "timestamp", "message", "logStreamName", None)
    column = TimestampColumn(f'{WRITTEN_TIME}"'.encode(), documents.IN_UTC)
    return DocumentLayout(header, record, writer, "@timestamp", "@message", "@logStream", column)


def _is_event(value: Any) -> bool:  # noqa: ANN401 - JSON
    """Whether this is an event of `aws logs`."""
    return (
        isinstance(value, dict)
        and value.keys() <= KEYS
        and isinstance(value.get("timestamp"), int)
        and isinstance(value.get("message"), str)
    )


def _is_row(value: Any) -> bool:  # noqa: ANN401 - JSON
    """Whether this is a row of CloudWatch Insights, with a time and a message."""
    if not isinstance(value, list) or not all(
        isinstance(cell, dict) and list(cell) == ["field", "value"] for cell in value
    ):
        return False
    if not all(isinstance(text, str) for cell in value for text in cell.values()):
        return False
    names = [cell["field"] for cell in value]
    return len(set(names)) == len(names) and {"@timestamp", "@message"} <= set(names) <= FIELDS


def _strings(value: dict[str, Any] | list[dict[str, str]]) -> tuple[list[str | None], dict[str, int]]:
    """Return the strings of a record, None for those that differ from record to record; and the columns of its keys."""
    strings: list[str | None] = []
    columns: dict[str, int] = {}
    if isinstance(value, dict):
        for key, member in value.items():
            columns[key] = 2 * len(strings)
            strings += [key, None] if isinstance(member, str) else [key]
        return strings, columns
    for cell in value:
        columns[cell["field"]] = 2 * len(strings) + 4
        strings += ["field", cell["field"], "value", None]
    return strings, columns
