"""Text in UTF-16, as PowerShell writes it: read as UTF-8. Quotes are literal in the decoded text."""

from __future__ import annotations

import codecs
from dataclasses import replace
from typing import TYPE_CHECKING

from leadsman.telemetry.file_format import FileFormat
from leadsman.telemetry.format import NotText, RecognisedFormat
from leadsman.telemetry.line_records import interleaved

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.file_format import FileSample
    from leadsman.telemetry.record import Record

BYTE_ORDER_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def _reader(sample: FileSample, _match: object) -> RecognisedFormat | NotText:
    inner = sample.recognise(b"".join(_as_utf_8([sample.head])).removeprefix(codecs.BOM_UTF8))
    if isinstance(inner, NotText):
        return inner
    read = inner.records or interleaved.reader(interleaved.NO_PREFIX, inner.time_at)

    def records(blocks: Iterable[bytes]) -> Iterator[Record]:
        return read(_as_utf_8(blocks))

    return replace(inner, names=("UTF-16", *inner.names), records=records, batches=None)


def _as_utf_8(blocks: Iterable[bytes]) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    for block in blocks:
        yield decoder.decode(block).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


FORMAT = FileFormat(
    name="UTF-16",
    priority=200,
    matches=lambda sample: sample.head.startswith(BYTE_ORDER_MARKS),
    reader=_reader,
)
