"""Shows what a line says beneath colours, unusual spaces and escaped letters, and where each character stands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Span = tuple[int, int]

HINTS = ("\\u004", "\\u005", "\\u006", "\\u007")
"""Letters that JSON need not escape."""

_COLOUR = re.compile(r"(?:\x1b|\\u001[bB]|\\x1[bB]|\\033|\\e)\[[0-9;]{0,20}m")
_LETTER = re.compile(r"\\u00([4-7][0-9a-fA-F])")
_UNUSUAL = re.compile("[\u00a0\u2000-\u200f\u202f\u2060\u3000\ufeff\uff1a\uff1d\ufe55]")
_AS_ASCII = {0xFF1A: ":", 0xFF1D: "=", 0xFE55: ":"}


def undisguised(line: str) -> tuple[str, Sequence[int] | None]:
    """Return a line in plain letters, and where each of its characters stands, and the end; None: where it stood.

    Colours and unusual spaces become spaces; a colon and an equals sign of double width become those of ASCII.
    """
    if "[" in line and _COLOUR.search(line):
        line = _COLOUR.sub(lambda match: " " * len(match[0]), line)
    if not line.isascii() and _UNUSUAL.search(line):
        line = _UNUSUAL.sub(lambda match: _AS_ASCII.get(ord(match[0]), " "), line)
    return _without_escapes(line) if "\\u00" in line and _LETTER.search(line) else (line, None)


def _without_escapes(line: str) -> tuple[str, Sequence[int]]:
    text: list[str] = []
    offsets: list[int] = []
    offset = 0
    for match in _LETTER.finditer(line):
        letter = chr(int(match[1], base=16))
        if letter.isalnum():
            text += (line[offset : match.start()], letter)
            offsets += (*range(offset, match.start()), match.start())
            offset = match.end()
    return "".join((*text, line[offset:])), [*offsets, *range(offset, len(line) + 1)]
