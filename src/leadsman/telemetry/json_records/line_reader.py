"""Reads JSON lines of several writers: Filebeat and Kibana exports, journald, Loki, Docker."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from leadsman.telemetry.json_records import json_fields
from leadsman.telemetry.line_records import text_lines
from leadsman.telemetry.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from leadsman.telemetry.timestamps.parsers import TimestampParser

DECODER = json.JSONDecoder(strict=False)
SCAN = cast("Any", DECODER).scan_once
"""The function that the decoder calls in the end."""
ENCODERS = ('"{}"'.format, json.JSONEncoder(ensure_ascii=False).encode, json.JSONEncoder().encode)
"""The usual ways to write a string. Another writer may escape a slash."""

STRING = r'"([^"\\]*(?:\\.[^"\\]*)*)"'
MIN_SHARE = 0.5
"""Share of the records that must have a key."""


def writer_path(sample: Sequence[dict[str, Any]]) -> str | None:
    """Return the path at which these records name their writer; None where the file has one writer only.

    A key that collectors write counts even when the sample shows one value: another writer may come later.
    """
    records = [json_fields.unwrap(record) for record in sample]
    for path in json_fields.common_paths(records, (*json_fields.FLEET_KEYS, *json_fields.LOCAL_KEYS), MIN_SHARE):
        values = [value for record in records if isinstance(value := json_fields.value_at(record, path), str | int)]
        if len(values) < MIN_SHARE * len(records):
            continue
        if path in json_fields.FLEET_KEYS or len(set(values)) > 1:
            return path
    return _loki_label_path(records)


def _loki_label_path(records: Sequence[dict[str, Any]]) -> str | None:
    """Return the path of Loki's labels, as logcli writes them."""
    has_labels = sum(isinstance(record.get("labels"), dict) and "line" in record for record in records)
    return "labels" if records and has_labels >= MIN_SHARE * len(records) else None


LABELS = ("filename", "container_id", "pod", "container", "instance", "host", "hostname", "node", "job", "app")


def writer_of_labels(labels: dict[str, Any]) -> str | None:
    """Return the writer that a set of labels names: pod and container, or the first of `LABELS` that is set."""
    if labels.get("pod") and labels.get("container"):
        return f"{labels['pod']}/{labels['container']}"
    return next((str(labels[name]) for name in LABELS if labels.get(name)), None)


def writer_name(record: dict[str, Any], path: str | None) -> str | None:
    """Return the writer of a record, given the path from `writer_path`."""
    value = json_fields.value_at(record, path) if path else None
    if isinstance(value, dict):
        return writer_of_labels(value)
    return str(value) if isinstance(value, str | int) and value != "" else None


def message_text(record: dict[str, Any]) -> tuple[str, list[str]]:
    """Return the record as one text, and the texts that stand in the file for it (message, stack trace)."""
    message = json_fields.text_at(record, json_fields.MESSAGE_KEYS) or ""
    stack = json_fields.text_at(record, json_fields.STACK_KEYS)
    level = json_fields.text_at(record, json_fields.LEVEL_KEYS)
    texts = [text for text in (message, stack) if text]
    joined = "\n".join(text.rstrip("\n") for text in texts)
    return (f"[{level.upper()}] {joined}" if level else joined), texts


def literal_span(raw: str, texts: list[str]) -> tuple[int, int]:
    """Return start and end of the texts in `raw`, with the escapes of the file; all of `raw` if they are not there."""
    spans = [span for text in texts if (span := _literal_span_of(raw, text))]
    return (min(begin for begin, _ in spans), max(end for _, end in spans)) if spans else (0, len(raw))


def _literal_span_of(raw: str, text: str) -> tuple[int, int] | None:
    for encode in ENCODERS:
        value = encode(text)
        at = raw.find(value)
        if at >= 0:
            return at + 1, at + len(value) - 1
    for match in re.finditer(STRING, raw):
        if "\\" in match[1] and decode_string(match[1]) == text:
            return match.span(1)
    return None


def decode_string(raw: str) -> str | None:
    """Decode a JSON string, given the text between its quotation marks; None where that is no JSON."""
    if "\\" not in raw and '"' not in raw:
        return raw  # of what stands between quotation marks only these two have a meaning to this decoder
    try:
        return str(DECODER.decode(f'"{raw}"'))
    except ValueError:
        return None


def decode_string_at(text: str, begin: int, end: int) -> str | None:
    """Decode the JSON string between the quotation marks before `begin` and at `end`, as `decode_string` does."""
    if text.find("\\", begin, end) < 0:
        return text[begin:end]
    try:
        decoded, after = SCAN(text, begin - 1)
    except (StopIteration, ValueError):
        return None
    return str(decoded) if after == end + 1 else decode_string(text[begin:end])


def parse_line(line: bytes, number: int, path: str | None, time_at: TimestampParser) -> Record:
    """Parse one line as a record; a line that is no JSON is a record without a subject."""
    raw = text_lines.decode_line(line)
    record = json_fields.parse_object(line)
    if record is None:
        return Record(number, time_at(line, 0, len(line)), None, raw, raw)
    record = json_fields.unwrap(record)
    text, texts = message_text(record)
    begin, end = literal_span(raw, texts)
    at = time_at(line, 0, len(line))
    return Record(number, at, writer_name(record, path), text, raw[begin:end])


@dataclass(frozen=True, slots=True)
class LineReader:
    """Reads a file of JSON lines, which name their writers at `path`."""

    path: str
    time_at: TimestampParser

    def __call__(self, blocks: Iterable[bytes]) -> Iterator[Record]:
        """Yield the records line by line."""
        lines = ((number, line) for number, line in text_lines.numbered_lines(blocks) if line.strip())
        yield from text_lines.with_record_starts(
            parse_line(line, number, self.path, self.time_at) for number, line in lines
        )


def docker_reader(time_at: TimestampParser) -> Callable[[Iterable[bytes]], Iterator[Record]]:
    """Read Docker's json-file log: Docker cuts lines at 16 KiB, so a record goes on until `log` ends with a newline."""

    def pieces(blocks: Iterable[bytes]) -> Iterator[tuple[Record, str, bool]]:
        for number, line in text_lines.numbered_lines(blocks):
            record = json_fields.parse_object(line) or {}
            log = record.get("log")
            if isinstance(log, str):
                raw = text_lines.decode_line(line)
                begin, end = literal_span(raw, [log])
                at = time_at(line, 0, len(line))
                yield (
                    Record(number, at, None, log.rstrip("\n"), raw[begin:end]),
                    str(record.get("stream")),
                    log[-1:] != "\n",
                )

    def records(blocks: Iterable[bytes]) -> Iterator[Record]:
        yield from text_lines.with_record_starts(text_lines.join_pieces(pieces(blocks)))

    return records
