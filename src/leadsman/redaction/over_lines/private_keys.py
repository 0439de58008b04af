"""Finds the lines of private keys: PEM, OpenSSH, PGP, SSH2, PuTTY; also behind the prefix of a log, and cut off."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Span = tuple[int, int]

HINTS = ("private key", "putty-user-key", "private-lines")

_BEGIN = re.compile(r"-{3,5} ?BEGIN [A-Z0-9 ]{0,60}PRIVATE KEY(?: BLOCK)? ?-{3,5}")
_END = re.compile(r"-{3,5} ?END [A-Z0-9 ]{0,60}PRIVATE KEY(?: BLOCK)? ?-{3,5}")
_PUTTY = re.compile(r"Private-Lines: \d+")
_PUTTY_END = "Private-MAC"
_BODY = re.compile(r"[A-Za-z0-9+/=]+\\*|\[hidden\]\\*|[\w\-]{1,40}: .{0,200}|\\*")
_WHOLE = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}\\*")
_RUN = re.compile(r"[A-Za-z0-9+/=]{16,}")
_ANY_RUN = re.compile(r"[A-Za-z0-9+/=]+")
_REST_OF_LINE = re.compile(r"(?:[A-Za-z0-9+/= \t\\]|\[hidden\])+")
_LONG_RUN = re.compile(r"[A-Za-z0-9+/]{30,}")
MAX_LINES = 400
"""Lines within which a key ends: one of 16,384 bits has 200."""


def on_one_line(text: str) -> Iterator[Span]:
    """Yield what stands between the marks of a key on one line; after a mark without an end, what is a key's text."""
    offset = 0
    ends = list(_END.finditer(text))
    while begin := _BEGIN.search(text, offset):
        while ends and ends[0].start() < begin.end():
            ends.pop(0)
        end = ends[0] if ends else None
        if end:
            yield begin.end(), end.start()
            offset = end.end()
            continue
        rest = _REST_OF_LINE.match(text, begin.end())
        if rest and (_LONG_RUN.search(rest[0]) or rest[0].startswith("\\n")) and _RUN.search(rest[0]):
            yield begin.end() + len(rest[0]) - len(rest[0].lstrip("\\nr ")), rest.end()
        offset = begin.end()
    if ends and not _BEGIN.search(text) and (runs := list(_LONG_RUN.finditer(text, 0, ends[0].start()))):
        yield runs[0].start(), ends[0].start()


def mark_at(text: str) -> int | None:
    """Return where the first mark of a key stands in a line; None where there is none."""
    offsets = [match.start() for mark in (_BEGIN, _END, _PUTTY) if (match := mark.search(text))]
    return min(offsets, default=None)


def over_lines(lines: Sequence[str], candidates: Sequence[int]) -> Iterator[tuple[int, Span]]:
    """Yield the index and the place of each line of a private key."""
    done = 0
    for index in candidates:
        line = lines[index]
        begun = _last_begin(line)
        if begun is not None and index >= done:
            end = _end_of(lines, index, _PUTTY_END if _PUTTY.search(line) else None)
            done = end or index
            yield from _body(lines, index + 1, end, column=begun)
        elif _END.search(line) and not _BEGIN.search(line) and index >= done:
            yield from _above(lines, index)


def _last_begin(line: str) -> int | None:
    """Return where a key begins that does not end on this line."""
    begins = [match.start() for match in _BEGIN.finditer(line)]
    ends = [match.start() for match in _END.finditer(line)]
    if begins and (not ends or ends[-1] < begins[-1]):
        return begins[-1]
    putty = _PUTTY.search(line)
    return putty.start() if putty else None


def _end_of(lines: Sequence[str], index: int, mark: str | None) -> int | None:
    for number in range(index + 1, min(len(lines), index + MAX_LINES)):
        if mark in lines[number] if mark else _END.search(lines[number]):
            return number
        if _BEGIN.search(lines[number]):
            return None
    return None


def _body(lines: Sequence[str], start: int, end: int | None, *, column: int) -> Iterator[tuple[int, Span]]:
    stop = min(len(lines), start + MAX_LINES) if end is None else end
    for number in range(start, stop):
        line = lines[number]
        text = line.strip()
        if _BODY.fullmatch(text):
            if text.rstrip("\\"):
                begin = line.index(text)
                yield number, (begin, begin + len(text.rstrip("\\")))
        elif end is None:
            return
        elif match := _ANY_RUN.match(line, column):
            yield number, match.span()
        else:
            yield from ((number, match.span()) for match in _RUN.finditer(line))


def _above(lines: Sequence[str], index: int) -> Iterator[tuple[int, Span]]:
    """Yield the lines above the end of a key whose beginning is cut off."""
    for number in range(index - 1, max(-1, index - MAX_LINES), -1):
        text = lines[number].strip()
        last = number == index - 1
        if not (_WHOLE.fullmatch(text) or (last and _BODY.fullmatch(text)) or text == "[hidden]"):
            return
        if text:
            begin = lines[number].index(text)
            yield number, (begin, begin + len(text.rstrip("\\")))
