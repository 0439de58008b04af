"""Tells by its first block how to read a file. Names and extensions are not asked."""

from __future__ import annotations

import codecs
import re
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import TYPE_CHECKING, Any

from leadsman.sections import is_sectioned
from leadsman.telemetry.batch import batched
from leadsman.telemetry.format import Format, NotText, no_time
from leadsman.telemetry.formats import (
    columnar,
    documents,
    interleaved,
    interleaved_columns,
    json_columns,
    jsonlines,
    jsons,
    lines,
    properties,
    tails,
)
from leadsman.telemetry.formats.lines import Clock
from leadsman.telemetry.source import source_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.format import Record
    from leadsman.telemetry.formats.lines import Timing
    from leadsman.telemetry.formats.stamps import Stamp

SAMPLE_LINES = 200
SAMPLE_BYTES = 4096  # of one line: what tells its format stands early
ZONED_BYTES = 64 << 10
"""Of a document, by whose times it is seen whether they name a zone."""
MOST_CONTROLS = 0.05
HALF = 0.5
CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b")) + b"\x7f"
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def recognise(head: bytes, *, zone: tzinfo, latest: datetime | None = None) -> Format | NotText:
    """How to read the file that begins with `head`, one decompressed block of it. Its last line may be cut.

    `zone` is meant by times that name none. `latest` is a time before which the file was written (when it was last
    changed; now, if not given): it settles the year of times that carry none.
    """
    if is_sectioned(head):
        inner = partial(_section, zone=zone, latest=latest)
        return Format(("sections",), no_time, zoned=True, recognise_part=inner)
    form = _section(head, zone=zone, latest=latest)
    if isinstance(form, Format) and form.records is not None and form.batches is None:
        return replace(form, batches=batched(form.records))
    return form


def _section(head: bytes, *, zone: tzinfo, latest: datetime | None) -> Format | NotText:
    if (source := source_of(head)) is not None:
        return Format((source.title,), no_time, zoned=True, output=source)
    if head.startswith(UTF_16):
        return _utf_16(head, zone, latest)
    text = head.lstrip(b"\x00")
    if not text.strip():
        return NotText("it is empty" if not head.strip(b"\x00 \n\r\t") and b"\x00" not in head else "only NUL bytes")
    controls = len(text) - len(text.translate(None, CONTROLS))
    if controls > MOST_CONTROLS * len(text):
        return NotText("it is not text")
    return _text(text, Clock(zone, latest or datetime.now(UTC)))


def _text(text: bytes, clock: Clock) -> Format:
    if documents.is_one(text):
        zoned = columnar.is_zoned(text[:ZONED_BYTES], clock.zone, lines.ELSEWHERE)
        records, batches = documents.reader(clock.zone), columnar.reader(clock.zone)
        return Format(("JSON document",), no_time, zoned, records, batches)
    sample = _sample(text)
    timing = lines.learn(sample, clock)
    prefix = interleaved.prefix_of(sample, timing.times)
    if prefix is not None and prefix.cut:
        sample = interleaved.behind_prefix(prefix, sample)
        timing = lines.learn(sample, clock)
    zoned = lines.is_zoned(sample, clock, timing)
    names = timing.names or ("undated text",)
    if prefix is not None:
        names = tuple(dict.fromkeys((prefix.name, *names)))
        at_start = lines.behind(prefix.pattern.pattern, timing.time_at) if prefix.cut else timing.time_at
        tail = prefix.name == tails.PREFIX
        batches = tails.reader(prefix, timing) if tail else interleaved_columns.reader(prefix, timing.time_at)
        return Format(names, at_start, zoned, interleaved.reader(prefix, timing.time_at), batches)
    records = _json_records(sample, timing) or _cut_records(sample, timing.time_at)
    if records is None and not timing.names and (owner := properties.owner_of(sample)):
        return Format(("properties",), no_time, zoned=True, records=properties.reader(owner))
    at_once = json_columns.reader(records.path, timing) if isinstance(records, jsonlines.Reader) else None
    return Format(names, timing.time_at, zoned, records, at_once if timing.knows_json else None)


def _sample(text: bytes) -> list[bytes]:
    """Take the first lines, and as many from all over the block."""
    every = [line[:SAMPLE_BYTES] for line in text.split(b"\n")]
    if len(every) > 1:
        every.pop()  # cut by the end of the block, or empty
    if len(every) <= SAMPLE_LINES:
        return every
    half = SAMPLE_LINES // 2
    return every[:half] + every[half :: max(1, (len(every) - half) // half)]


def _json_records(sample: list[bytes], timing: Timing) -> Any:  # noqa: ANN401 - a reader, or None
    found = [record for line in sample[:200] if (record := jsons.as_record(line))]
    if len(found) < HALF * sum(1 for line in sample[:200] if line.strip()) or not found:
        return None
    logs = [log for record in found if isinstance(log := record.get("log"), str) and "stream" in record]
    if logs and any(log[-1:] != "\n" for log in logs):
        return jsonlines.docker_reader(timing.time_at)
    path = jsonlines.subject_path(found)
    return jsonlines.Reader(path, timing.time_at) if path else None


CUT = re.compile(rb"[^ ]+ std(?:out|err) P ")


def _cut_records(sample: list[bytes], time_at: Stamp) -> Any:  # noqa: ANN401 - the same
    return interleaved.container_reader(time_at) if any(CUT.match(line) for line in sample) else None


def _utf_16(head: bytes, zone: tzinfo, latest: datetime | None) -> Format | NotText:
    """Read the file as UTF-8 lines. Its quotes are literal in the decoded text."""
    inner = recognise(b"".join(_as_utf_8([head])).removeprefix(codecs.BOM_UTF8), zone=zone, latest=latest)
    if isinstance(inner, NotText):
        return inner
    read = inner.records or _plain_reader(inner.time_at)

    def records(blocks: Iterable[bytes]) -> Iterator[Record]:
        return read(_as_utf_8(blocks))

    return replace(inner, names=("UTF-16", *inner.names), records=records, batches=None)


def _as_utf_8(blocks: Iterable[bytes]) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    for block in blocks:
        yield decoder.decode(block).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _plain_reader(time_at: Stamp) -> Any:  # noqa: ANN401 - a reader
    return interleaved.reader(interleaved.NOBODY, time_at)
