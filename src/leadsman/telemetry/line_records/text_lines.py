"""Lines of blocks, and records that continue over several lines or were cut: what all record readers share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from leadsman.telemetry.record import Record

MAX_LINE_BYTES = 16 << 20  # a line of a gigabyte is no log line; its beginning is enough
MAX_RECORD_START = 500
"""Characters that are kept of the first line of a record."""
MAX_WRITERS = 100_000
CONTINUES = re.compile(r"\t| {2,}|Caused by: |Suppressed: |\.\.\. \d+ (?:more|common frames)")


def numbered_lines(blocks: Iterable[bytes], max_bytes: int = MAX_LINE_BYTES) -> Iterator[tuple[int, bytes]]:
    """Yield every line with its number, from 1, without its end. A line longer than `max_bytes` is cut there."""
    number = 1
    parts: list[bytes] = []
    size = 0
    for block in blocks:
        lines = block.split(b"\n")
        if size < max_bytes:
            parts.append(lines[0])
            size += len(lines[0])
        if len(lines) == 1:
            continue
        yield number, _line(parts, max_bytes)
        if b"\r" in block or len(block) > max_bytes:
            yield from ((number + index, _line([line], max_bytes)) for index, line in enumerate(lines[1:-1], 1))
        else:
            yield from enumerate(lines[1:-1], number + 1)
        number += len(lines) - 1
        parts, size = [lines[-1]], len(lines[-1])
    if size:
        yield number, _line(parts, max_bytes)


def coalesce_blocks(blocks: Iterable[bytes], min_bytes: int) -> Iterator[bytes]:
    """Yield blocks of at least `min_bytes`, except the last. Blocks before an error are yielded before it is raised."""
    pending: list[bytes] = []
    size = 0
    unread = iter(blocks)
    while True:
        failed: Exception | None = None
        try:
            block = next(unread, None)
        except Exception as error:  # noqa: BLE001 - any error is raised after the blocks before it
            block, failed = None, error
        if block is not None:
            pending.append(block)
            size += len(block)
        if pending and (block is None or size >= min_bytes):
            yield b"".join(pending)
            pending, size = [], 0
        if failed is not None:
            raise failed
        if block is None:
            return


def complete_lines(blocks: Iterable[bytes], max_bytes: int = MAX_LINE_BYTES) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of `numbered_lines` block by block: the number of the first one, and all of them joined."""
    number, size = 1, 0
    parts: list[bytes] = []
    for block in blocks:
        data = block
        if parts or b"\n" not in data:  # pieces of an overlong line
            piece, newline, data = data.partition(b"\n")
            if size < max_bytes:
                parts.append(piece)
                size += len(piece)
            if not newline:
                continue
            yield number, _line(parts, max_bytes)
            number, parts, size = number + 1, [], 0
        last = data.rfind(b"\n")
        cut_line = data[last + 1 :]
        if last >= 0:
            yield number, _lines(data[:last], max_bytes)
            number += data.count(b"\n")
        if cut_line:
            parts, size = [cut_line], len(cut_line)
    if size:
        yield number, _line(parts, max_bytes)


def _lines(joined: bytes, max_bytes: int) -> bytes:
    """Return lines without carriage returns, overlong ones cut: what `_line` does to a single one."""
    if len(joined) > max_bytes:
        return b"\n".join(_line([line], max_bytes) for line in joined.split(b"\n"))
    return (joined.replace(b"\r\n", b"\n") if b"\r" in joined else joined).removesuffix(b"\r")


def _line(parts: list[bytes], max_bytes: int = MAX_LINE_BYTES) -> bytes:
    return b"".join(parts)[:max_bytes].removesuffix(b"\r")


def decode_line(line: bytes) -> str:
    """Decode a line in the way in which all quotes are decoded."""
    return line.decode("utf-8", "replace")


def with_record_starts(records: Iterable[Record], earlier: Mapping[str | None, str] | None = None) -> Iterator[Record]:
    """Set `record_start` of records that continue an earlier one of their writer: stack frames, lines of dumps.

    `earlier` holds first lines of earlier records, by writer.
    """
    starts: dict[str | None, str] = dict(earlier or {})
    for record in map(_encodable, records):
        if record.record_start is not None:
            yield record
        elif record.subject in starts and CONTINUES.match(record.text):
            yield record._replace(at=None, record_start=starts[record.subject])
        else:
            if len(starts) >= MAX_WRITERS:
                starts.clear()
            starts[record.subject] = record.first_line[:MAX_RECORD_START]
            yield record


def _encodable(record: Record) -> Record:
    """Replace halves of surrogate pairs, which JSON may hold and UTF-8 cannot."""
    subject = record.subject
    if record.text.isascii() and (subject is None or subject.isascii()):
        return record
    return record._replace(
        text=_replace_surrogates(record.text), subject=None if subject is None else _replace_surrogates(subject)
    )


def _replace_surrogates(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def join_pieces(pieces: Iterable[tuple[Record, str, bool]]) -> Iterator[Record]:
    """Join the pieces of cut records. Each piece comes with its channel (stdout, stderr), and whether more follow."""
    open_records: dict[tuple[str | None, str], Record] = {}
    for piece, channel, more in pieces:
        key = (piece.subject, channel)
        previous = open_records.pop(key, None)
        joined = piece if previous is None else previous._replace(text=previous.text + piece.text)
        if more and len(joined.text) < MAX_LINE_BYTES:
            open_records[key] = joined
        else:
            yield joined
    yield from open_records.values()
