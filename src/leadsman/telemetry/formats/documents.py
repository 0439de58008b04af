"""Whole JSON documents: `aws logs`, Loki, Elasticsearch answers, arrays of records, on one line or on many."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import UTC
from itertools import chain
from typing import TYPE_CHECKING, Any

from leadsman.telemetry.format import Record
from leadsman.telemetry.formats import jsonlines, jsons, streams
from leadsman.telemetry.formats.json_stream import Broken, Element, Walker, Where, decoded
from leadsman.telemetry.formats.stamps import iso_or_epoch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import tzinfo

    from leadsman.telemetry.formats.stamps import Stamp

WINDOW = 32 << 20
"""Characters of records that are put in order of time together: exports come newest first, or stream after stream."""

LOOKS_LIKE_ONE = re.compile(rb"[\xef\xbb\xbf\s]*(?:\[\s*[\[{]|\{\s*\"|\{\s*\n)")
RECORDS = Where(
    through=frozenset({(), ("hits",), ("data",)}),
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
        }
    ),
)
IN_UTC = iso_or_epoch(UTC)  # CloudWatch Insights knows no other zone
TIME_PATHS = (*jsons.TIME_KEYS, "instant.epochSecond")
WORKER_KEYS = ("logStream", "logStreamName")
"""Members of a document that name the writer of all its records."""
SUBJECT_PATHS = (*jsons.FLEET_KEYS, *jsons.LOCAL_KEYS)
LOKI_VALUE = re.compile(r'"(\d{16,19})"\s*,\s*' + jsonlines.STRING)


def is_one(head: bytes) -> bool:
    """Whether this begins a document in which there are records."""
    if not LOOKS_LIKE_ONE.match(head):
        return False
    line, newline, _ = head.partition(b"\n")
    if newline and jsons.as_record(line) is not None:
        head = line  # a whole object on one line: a document only if it holds records itself
    walker = Walker([head.lstrip(b"\xef\xbb\xbf").decode("utf-8", "replace")], RECORDS, DECODER)
    try:
        first = next(walker.elements(), None)
    except Broken:
        return walker.is_inside and len(head) >= LONGEST_LINE_BYTES  # an element larger than what there is to look at
    return first is not None and (isinstance(first.value, dict) or _insight(first.value) is not None)


def reader(zone: tzinfo) -> Callable[[Iterable[bytes]], Iterator[Record]]:
    """Read one document as it comes. A broken one ends where it breaks.

    Records are in order of time, all of a document up to `WINDOW`; of a larger one, each such part of it.
    """
    read = iso_or_epoch(zone)

    def records(blocks: Iterable[bytes]) -> Iterator[Record]:
        yield from streams.with_heads(chain.from_iterable(windows(records_of(decoded(blocks), read))))

    return records


def has_written_times(text: str) -> bool:
    """Say whether any time in a document is written out. Numbers count from 1970 everywhere."""
    walker = Walker([text], RECORDS, DECODER)
    with suppress(Broken):
        return any(_has_written_time(element.value) for element in walker.elements())
    return False


def agree(head: bytes, zone: tzinfo, other: tzinfo) -> bool:
    """Say whether the times in a document that begins so are the same whichever of two zones is meant by default."""
    first, second = ([record.at for record in reader(each)([head])] for each in (zone, other))
    return first == second


def _has_written_time(value: Any) -> bool:  # noqa: ANN401 - JSON
    if not isinstance(value, dict):
        return True
    record = jsons.flat(value)
    return any(isinstance(jsons.at_path(record, path), str) for path in jsons.paths_in(record, TIME_PATHS))


def windows(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Yield the records that are put in order of time together, in that order."""
    window: list[Record] = []
    size = 0
    for record in records:
        window.append(record)
        size += len(record.text) + len(record.quote)
        if size > WINDOW:
            yield _in_order(window)
            window, size = [], 0
    yield _in_order(window)


def _in_order(records: list[Record]) -> list[Record]:
    timed = all(record.at is not None for record in records)
    return sorted(records, key=lambda record: record.at or 0) if timed else records


def records_of(pieces: Iterable[str], read: Stamp) -> Iterator[Record]:
    """Yield the records of a document's text as they stand there."""
    walker = Walker(pieces, RECORDS, DECODER)
    try:
        for element in walker.elements():
            yield from _records_of(element, read)
    except Broken:
        return


def _records_of(element: Element, read: Stamp) -> Iterator[Record]:
    raw, line, counted = element.raw, element.line, 0
    for at, subject, message, first, last in found_in(raw, element.value, read):
        line += raw.count("\n", counted, first)
        counted = first
        worker = subject or jsons.text_at(element.context, WORKER_KEYS)
        yield Record(line, at, worker, message, raw[first:last].split("\n", 1)[0])


Found = tuple[int | None, str | None, str, int, int]
"""Time, subject, text, and from where to where it stands in its element."""


def found_in(raw: str, value: Any, read: Stamp) -> Iterator[Found]:  # noqa: ANN401 - JSON
    """Yield the records in an element of a document, which is `raw` there."""
    if isinstance(value, dict) and isinstance(value.get("values"), list):
        yield from _loki(raw, value)
        return
    insight = _insight(value)
    record = jsons.flat(value) if isinstance(value, dict) else insight
    if record is None:
        return
    message, texts = jsonlines.text_of(record)
    first, last = jsonlines.raw_span(raw, texts)
    yield _time(record, read if insight is None else IN_UTC), _subject(record), message, first, last


def _loki(raw: str, value: dict[str, Any]) -> Iterator[Found]:
    labels = value.get("stream")
    subject = jsonlines.label_subject(labels) if isinstance(labels, dict) else None
    for found in LOKI_VALUE.finditer(raw):
        message = jsonlines.unescaped(found[2])
        if message is not None:
            yield int(found[1]) // 1_000_000, subject, message, *found.span(2)


def _insight(value: Any) -> dict[str, Any] | None:  # noqa: ANN401 - JSON
    """CloudWatch Insights: a list of `{"field": "@message", "value": ...}`."""
    if not isinstance(value, list) or not all(isinstance(cell, dict) and "field" in cell for cell in value):
        return None
    return {str(cell["field"]): cell.get("value") for cell in value}


def _time(record: dict[str, Any], read: Stamp) -> int | None:
    for path in jsons.paths_in(record, TIME_PATHS):
        value = jsons.at_path(record, path)
        if isinstance(value, str | int | float):
            written = str(value).encode()
            at = read(written, 0, len(written))
            if at is not None:
                return at
    return None


def _subject(record: dict[str, Any]) -> str | None:
    paths = jsons.paths_in(record, SUBJECT_PATHS)
    return next((found for path in paths if (found := jsonlines.subject_of(record, path))), None)


LONGEST_LINE_BYTES = 4 << 20
"""What the first block of a document of one line holds at most."""

DECODER = json.JSONDecoder(strict=False)
