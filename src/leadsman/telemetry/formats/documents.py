"""Whole JSON documents: `aws logs`, Loki, Elasticsearch answers, arrays of records, on one line or on many."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Generator
from datetime import UTC
from typing import TYPE_CHECKING, Any

from leadsman.telemetry.format import Record
from leadsman.telemetry.formats import jsonlines, jsons, streams
from leadsman.telemetry.formats.stamps import iso_or_epoch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import tzinfo

    from leadsman.telemetry.formats.stamps import Stamp

LARGEST = 256 << 20
LOOKS_LIKE_ONE = re.compile(rb"[\xef\xbb\xbf\s]*(?:\[\s*[\[{]|\{\s*\"|\{\s*\n)")
SPACE = re.compile(r"[\s,]*")
COLON = re.compile(r"\s*:\s*")
OPEN = frozenset({(), ("hits",), ("data",)})
ARRAYS = frozenset(
    {(), ("events",), ("results",), ("logEvents",), ("hits", "hits"), ("data", "result"), ("records",), ("entries",)}
)
IN_UTC = iso_or_epoch(UTC)  # CloudWatch Insights knows no other zone
LOKI_VALUE = re.compile(r'"(\d{16,19})"\s*,\s*' + jsonlines.STRING)

Element = tuple[int, int, Any, dict[str, Any]]
"""Where an element begins and ends, its value, and what its document says of all its elements."""


def elements(text: str) -> Iterator[Element]:
    """Walk the records of one document, or of several in a row. A broken document ends where it breaks."""
    at = _skip(text, 0)
    try:
        while at < len(text):
            at = _skip(text, (yield from _walk(text, at, (), {})))
    except (ValueError, IndexError, RecursionError):
        return


Walk = Generator[Element, None, int]
"""Yields elements; returns where it ends."""


def _walk(text: str, at: int, path: tuple[str, ...], context: dict[str, Any]) -> Walk:
    if text[at] == "{" and path in OPEN:
        return (yield from _members(text, at + 1, path, context))
    if text[at] == "[" and path in ARRAYS:
        return (yield from _items(text, at + 1, context))
    value, end = DECODER.raw_decode(text, at)
    if path:
        context[path[-1]] = value
    return end


def _members(text: str, at: int, path: tuple[str, ...], context: dict[str, Any]) -> Walk:
    while text[at := _skip(text, at)] != "}":
        key, end = DECODER.raw_decode(text, at)
        colon = COLON.match(text, end)
        if colon is None or not isinstance(key, str):
            raise ValueError("no member")
        at = yield from _walk(text, colon.end(), (*path, key), context)
    return at + 1


def _items(text: str, at: int, context: dict[str, Any]) -> Walk:
    while text[at := _skip(text, at)] != "]":
        value, end = DECODER.raw_decode(text, at)
        yield at, end, value, context
        at = end
    return at + 1


def _skip(text: str, at: int) -> int:
    found = SPACE.match(text, at)
    return found.end() if found else at


def is_one(head: bytes) -> bool:
    """Whether this begins a document in which there are records."""
    if not LOOKS_LIKE_ONE.match(head):
        return False
    line, newline, _ = head.partition(b"\n")
    if newline and jsons.as_record(line) is not None:
        head = line  # a whole object on one line: a document only if it holds records itself
    first = next(elements(head.lstrip(b"\xef\xbb\xbf").decode("utf-8", "replace")), None)
    return first is not None and (isinstance(first[2], dict) or _insight(first[2]) is not None)


def reader(zone: tzinfo) -> Callable[[Iterable[bytes]], Iterator[Record]]:
    """Read one document, oldest first: exports come newest first, or one stream after another."""
    read = iso_or_epoch(zone)

    def records(blocks: Iterable[bytes]) -> Iterator[Record]:
        text = _whole(blocks)
        found = list(_numbered(text, read))
        if all(record.at is not None for record in found):
            found.sort(key=lambda record: record.at or 0)
        yield from streams.with_heads(found)

    return records


def _whole(blocks: Iterable[bytes]) -> str:
    """Decode everything; OSError where it would not fit in memory."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    parts: list[str] = []
    size = 0
    for block in blocks:
        parts.append(decoder.decode(block))
        size += len(block)
        if size > LARGEST:
            raise OSError(f"a JSON document of more than {LARGEST >> 20} MiB; export it as JSON lines")
    return "".join(parts)


def _numbered(text: str, read: Stamp) -> Iterator[Record]:
    line, counted = 1, 0
    for begin, end, value, context in elements(text):
        for at, subject, message, first, last in _records_in(text, (begin, end), value, read):
            line += text.count("\n", counted, first)
            counted = first
            worker = subject or jsons.text_at(context, ("logStream", "logStreamName"))
            yield Record(line, at, worker, message, text[first:last].split("\n", 1)[0])


Found = tuple[int | None, str | None, str, int, int]
"""Time, subject, text, and from where to where it stands in the document."""


def _records_in(text: str, span: tuple[int, int], value: Any, read: Stamp) -> Iterator[Found]:  # noqa: ANN401 - JSON
    begin, end = span
    if isinstance(value, dict) and isinstance(value.get("values"), list):
        yield from _loki(text, span, value)
        return
    insight = _insight(value)
    record = jsons.flat(value) if isinstance(value, dict) else insight
    if record is None:
        return
    message, texts = jsonlines.text_of(record)
    first, last = jsonlines.raw_span(text[begin:end], texts)
    yield _time(record, read if insight is None else IN_UTC), _subject(record), message, begin + first, begin + last


def _loki(text: str, span: tuple[int, int], value: dict[str, Any]) -> Iterator[Found]:
    labels = value.get("stream")
    subject = jsonlines.label_subject(labels) if isinstance(labels, dict) else None
    for found in LOKI_VALUE.finditer(text, *span):
        message = jsonlines.unescaped(found[2])
        if message is not None:
            yield int(found[1]) // 1_000_000, subject, message, *found.span(2)


def _insight(value: Any) -> dict[str, Any] | None:  # noqa: ANN401 - JSON
    """CloudWatch Insights: a list of `{"field": "@message", "value": ...}`."""
    if not isinstance(value, list) or not all(isinstance(cell, dict) and "field" in cell for cell in value):
        return None
    return {str(cell["field"]): cell.get("value") for cell in value}


def _time(record: dict[str, Any], read: Stamp) -> int | None:
    for path in (*jsons.TIME_KEYS, "instant.epochSecond"):
        value = jsons.at_path(record, path)
        if isinstance(value, str | int | float):
            written = str(value).encode()
            at = read(written, 0, len(written))
            if at is not None:
                return at
    return None


def _subject(record: dict[str, Any]) -> str | None:
    paths = (*jsons.FLEET_KEYS, *jsons.LOCAL_KEYS)
    return next((found for path in paths if (found := jsonlines.subject_of(record, path))), None)


DECODER = json.JSONDecoder(strict=False)
