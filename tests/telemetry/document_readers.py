"""Reads a document in columns and record by record, and damages it before: what tests of several forms share."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from hypothesis import strategies as st

from leadsman.telemetry.json_records import document_columns, documents, time_windows
from leadsman.telemetry.record_batch import batch_reader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from leadsman.telemetry.record_batch import LogRecordBatch

    Reader = Callable[[Iterable[bytes]], Iterator[LogRecordBatch]]
    Row = tuple[int, int, str | None, str, str, bool]

EXAMPLES = 200
"""Some five seconds for each property. Each run draws others."""
NANOSECONDS = 1_794_875_737_795_123_456
DIGITS = str(NANOSECONDS)
LINES = (
    "START RequestId: 611855e6-8c68-4843-afa7-7820c5e24327 Version: $LATEST",
    "\tat org.apache.kafka.clients.Sender.run(Sender.java:1)",
    "Caused by: java.io.IOException: Connection reset by peer",
    "  indented", "", " ", "\n", "\n\n", "tail\r\n", "two\nlines", "x\n", '"', "\\", '\\"', '","', '"],["', "]]},{",
    '{"level":"ERROR","ts":"' + DIGITS + '","msg":"a \\"b\\""}', DIGITS, f'"{DIGITS}","x"',
    f'["{DIGITS}","x"]', f'"{DIGITS}',
    "a\x00b", "a\x1fb\t", "\u00e9", "\u2028", "\U0001f600 grin", "\ud83d half", "\udc00", "long " * 60,
)  # fmt: skip
texts = st.one_of(st.sampled_from(LINES), st.text(max_size=20))
LAYOUTS: tuple[dict[str, Any], ...] = (
    {"separators": (",", ":")}, {"separators": (",", ":"), "ensure_ascii": False}, {}, {"indent": 2}, {"indent": "\t"},
)  # fmt: skip
MARKS = (b'"', b"\\", b",", b"[", b"]", b"{", b"}", b":", b" ", b"\n", b"\x0b", b"\xff", b"0", b"u", b"")
SWAPS = (
    (b"\n", b"\r\n"), (b"],", b"] ,"), (b'","', b'" , "'), (b"\\n", b"\\u000a"), (b"/", b"\\/"), (b"o", b"\\u006F"),
    (b"\\t", b"\t"), (b"long", b"l\xffng"), (b"long", b"l\nng"), (b"RequestId", b"\\qRequestId"), (b"at", b"\\ud83d"),
    (b"7", b"\xd9\xa7"),  # a digit of another script
    (b'"app":', b'"app":"b","app":'), (b'"values"', b'"values":1,"values"'), (b"]]}", b']],"values":[["1","x"]]}'),
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn, text: str) -> bytes:
    """Return a document as it is, twice, with some bytes replaced, or cut off."""
    text = draw(st.sampled_from((text, text, text + "\n" + text, "\ufeff" + text)))
    encoded = text.encode("utf-8", "surrogatepass")
    old, new = draw(st.sampled_from(((b"", b""), *SWAPS)))
    if old:
        encoded = encoded.replace(old, new, draw(st.sampled_from((1, 2, -1))))
    for _ in range(draw(st.sampled_from((0, 0, 0, 1, 2)))):
        place = draw(st.integers(0, len(encoded)))
        mark, width = draw(st.sampled_from(MARKS)), draw(st.integers(0, 2))
        encoded = encoded[:place] + mark + encoded[place + width :]
    return encoded[: draw(st.sampled_from((len(encoded), len(encoded), draw(st.integers(0, len(encoded))))))]


class BrokenFileError(Exception):
    """A file that breaks off."""


def cut(data: bytes, size: int, blocks: int | None) -> Iterator[bytes]:
    """Cut into blocks. After `blocks` of them the file breaks off."""
    for number, start in enumerate(range(0, len(data), size)):
        if number == blocks:
            raise BrokenFileError
        yield data[start : start + size]


def rows(reader: Reader, data: bytes, block_bytes: int, blocks: int | None) -> tuple[list[Row], bool]:
    """Return all that is known of each record, in their order, and whether the file broke off."""
    read: list[Row] = []
    try:
        for batch in reader(cut(data, block_bytes, blocks)):
            columns = zip(batch.line.tolist(), batch.at.tolist(), batch.writer.tolist(), strict=True)
            for row, (line, at, writer) in enumerate(columns):
                text, quote = batch.text_and_quote(row)
                read.append((line, at, batch.writers.names[writer], text, quote, bool(batch.starts_record[row])))
    except BrokenFileError:
        return read, True
    return read, False


def assert_same(data: bytes, block_bytes: int, *, window: int = 1 << 25, blocks: int | None = None) -> list[Row]:
    with ExitStack() as changed:
        changed.enter_context(patch.object(time_windows, "BATCH_BYTES", block_bytes))
        changed.enter_context(patch.object(documents, "WINDOW_CHARACTERS", window))
        singly = rows(batch_reader(documents.reader(UTC)), data, block_bytes, blocks)
        in_columns = rows(document_columns.reader(UTC), data, block_bytes, blocks)
    assert in_columns == singly
    return singly[0]


def assert_all_same(damaged_documents: Iterable[bytes], block_bytes: int) -> None:
    for each in damaged_documents:
        assert_same(each, block_bytes)


def read_singly(data: bytes, block_bytes: int = 1 << 20) -> int:
    """Return how many elements of a document are not read in columns."""
    with patch.object(documents, "parse_element", wraps=documents.parse_element) as parse_element:
        rows(document_columns.reader(UTC), data, block_bytes, None)
    return parse_element.call_count
