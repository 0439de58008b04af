"""What all record readers share: numbered lines, continued records, cut records."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from leadsman.telemetry.format import Record

LONGEST_LINE = 16 << 20  # a line of a gigabyte is no log line; its beginning is enough
LONGEST_HEAD = 500
MOST_SUBJECTS = 100_000
CONTINUES = re.compile(r"\t| {2,}|Caused by: |Suppressed: |\.\.\. \d+ (?:more|common frames)")


def numbered_lines(blocks: Iterable[bytes], longest: int = LONGEST_LINE) -> Iterator[tuple[int, bytes]]:
    """Every line with its number, from 1, without its end. Lines longer than any log line are cut."""
    number = 1
    parts: list[bytes] = []
    held = 0
    for block in blocks:
        lines = block.split(b"\n")
        if held < longest:
            parts.append(lines[0])
            held += len(lines[0])
        if len(lines) == 1:
            continue
        yield number, _line(parts, longest)
        yield from ((number + index, _line([line], longest)) for index, line in enumerate(lines[1:-1], 1))
        number += len(lines) - 1
        parts, held = [lines[-1]], len(lines[-1])
    if held:
        yield number, _line(parts, longest)


def gathered(blocks: Iterable[bytes], least: int) -> Iterator[bytes]:
    """Yield blocks of so many bytes at least, but for the last. What came before an error is handed out."""
    kept: list[bytes] = []
    size = 0
    unread = iter(blocks)
    while True:
        failed: Exception | None = None
        try:
            block = next(unread, None)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised after what came before it
            block, failed = None, error
        if block is not None:
            kept.append(block)
            size += len(block)
        if kept and (block is None or size >= least):
            yield b"".join(kept)
            kept, size = [], 0
        if failed is not None:
            raise failed
        if block is None:
            return


def whole_lines(blocks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of `numbered_lines` block by block: the first one's number, and all of them joined."""
    number, held = 1, 0
    parts: list[bytes] = []
    for block in blocks:
        data = block
        if parts or b"\n" not in data:  # pieces of an overlong line
            piece, newline, data = data.partition(b"\n")
            if held < LONGEST_LINE:
                parts.append(piece)
                held += len(piece)
            if not newline:
                continue
            yield number, _line(parts)
            number, parts, held = number + 1, [], 0
        whole = data.rfind(b"\n")
        rest = data[whole + 1 :]
        if whole >= 0:
            yield number, _lines(data[:whole])
            number += data.count(b"\n")
        if rest:
            parts, held = [rest], len(rest)
    if held:
        yield number, _line(parts)


def _lines(whole: bytes) -> bytes:
    """Return lines without what `_line` takes away from each of them."""
    if len(whole) > LONGEST_LINE:
        return b"\n".join(_line([line]) for line in whole.split(b"\n"))
    return (whole.replace(b"\r\n", b"\n") if b"\r\n" in whole else whole).removesuffix(b"\r")


def _line(parts: list[bytes], longest: int = LONGEST_LINE) -> bytes:
    return b"".join(parts)[:longest].removesuffix(b"\r")


def decoded(line: bytes) -> str:
    """Bytes as the text that all of leadsman quotes."""
    return line.decode("utf-8", "replace")


def with_heads(records: Iterable[Record], known: Mapping[str | None, str] | None = None) -> Iterator[Record]:
    """Give stack frames and the lines of dumps the first line of the record that they continue, writer by writer.

    `known` are the first lines of writers whose records went before.
    """
    heads: dict[str | None, str] = dict(known or {})
    for record in map(_encodable, records):
        if record.head is not None:
            yield record
        elif record.subject in heads and CONTINUES.match(record.text):
            yield replace(record, at=None, head=heads[record.subject])
        else:
            if len(heads) >= MOST_SUBJECTS:
                heads.clear()
            heads[record.subject] = record.first_line[:LONGEST_HEAD]
            yield record


def _encodable(record: Record) -> Record:
    """Half of a surrogate pair, which JSON may hold, has no place in UTF-8."""
    subject = record.subject
    if record.text.isascii() and (subject is None or subject.isascii()):
        return record
    return replace(record, text=_whole(record.text), subject=None if subject is None else _whole(subject))


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def joined(pieces: Iterable[tuple[Record, str, bool]]) -> Iterator[Record]:
    """Put records together that were cut. A piece comes with the channel it was cut in, and whether more follows."""
    open_records: dict[tuple[str | None, str], Record] = {}
    for piece, channel, more in pieces:
        key = (piece.subject, channel)
        begun = open_records.pop(key, None)
        whole = piece if begun is None else replace(begun, text=begun.text + piece.text)
        if more and len(whole.text) < LONGEST_LINE:
            open_records[key] = whole
        else:
            yield whole
    yield from open_records.values()
