"""Parses a JSON document as a stream: of a document of gigabytes, only one element is in memory at a time.

The parser of the standard library decodes each element. Its error for a text that ends too early shows that more of the
document must be read: so no part is parsed twice, and the line of each element is known.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_ELEMENT = 256 << 20
"""Characters. A stream of Loki is one element, with all its lines."""

SPACE = re.compile(r"[\s,]*")
COLON = re.compile(r"\s*:\s*")
MAX_CUT_TOKEN = 16
"""An error in the last 16 characters can come from a cut: a number, a word or an escape is not longer."""

CLOSING = frozenset('"]}')
"""Characters that end a value for certain: a number at the end of a block may have more digits."""

MemberPath = tuple[str, ...]


class Element(NamedTuple):
    """A record of a document: its literal text, the line on which it begins, its value, and members of its document.

    Only those members are known that stand before the record.
    """

    raw: str
    line: int
    value: Any
    context: dict[str, Any]


class ArrayPaths(NamedTuple):
    """Which members of a document are entered, and of which arrays the elements are its records."""

    entered: frozenset[MemberPath]
    arrays: frozenset[MemberPath]


class BrokenDocument(ValueError):
    """The document breaks off, or is no JSON."""


def decode_blocks(blocks: Iterable[bytes]) -> Iterator[str]:
    """Return the blocks as text, even where a block ends inside a character."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    return (decoder.decode(block) for block in blocks)


def is_cut(error: json.JSONDecodeError, text: str) -> bool:
    """Whether a text may be no JSON because it ends too early."""
    return error.msg.startswith("Unterminated string") or error.pos >= len(text) - MAX_CUT_TOKEN


class DocumentParser:
    """The text of a document as far as it has been read, and the position in it. Parsed text is dropped."""

    def __init__(self, pieces: Iterable[str], paths: ArrayPaths, decoder: json.JSONDecoder) -> None:
        self.is_inside = False  # an element has begun and not ended
        self.completed = 0  # documents that were parsed to their ends
        self._pieces = iter(pieces)
        self._paths = paths
        self._decoder = decoder
        self._text = ""
        self._at = 0
        self._line = 1  # of the position up to which newlines have been counted
        self._counted = 0

    @property
    def position(self) -> int:
        """The position in the text that has not been dropped."""
        return self._at

    def elements(self) -> Iterator[Element]:
        """Yield the records of one document, or of several in a row. Raises BrokenDocument where it breaks."""
        while self._skip_space():
            yield from self._parse((), {})
            self.completed += 1

    def _parse(self, path: MemberPath, context: dict[str, Any]) -> Iterator[Element]:
        first = self._next_character()
        if first == "{" and path in self._paths.entered:
            yield from self._members(path, context)
        elif first == "[" and path in self._paths.arrays:
            yield from self._items(context)
        else:
            value, self._at = self._decode_value()
            if path:
                context[path[-1]] = value

    def _members(self, path: MemberPath, context: dict[str, Any]) -> Iterator[Element]:
        self._at += 1
        while self._next_character() != "}":
            key, self._at = self._decode_value()
            if not isinstance(key, str) or self._next_character() != ":":
                raise BrokenDocument("no member")
            self._at += 1
            yield from self._parse((*path, key), context)
        self._at += 1

    def _items(self, context: dict[str, Any]) -> Iterator[Element]:
        self._at += 1
        while self._next_character() != "]":
            self.is_inside = True
            value, end = self._decode_value()
            self.is_inside = False
            self._count_lines()
            line, raw = self._line, self._text[self._at : end]
            self._at = end
            yield Element(raw, line, value, context)
        self._at += 1

    def _skip_space(self) -> bool:
        """Skip blanks and commas; return whether anything follows."""
        while True:
            space = SPACE.match(self._text, self._at)
            assert space is not None
            self._at = space.end()
            if self._at < len(self._text):
                return True
            if not self._read_more():
                return False

    def _next_character(self) -> str:
        if not self._skip_space():
            raise BrokenDocument("it breaks off")
        return self._text[self._at]

    def _decode_value(self) -> tuple[Any, int]:
        """Return the value that begins here and where it ends, reading on until it is complete."""
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if not is_cut(error, self._text) or not self._read_more():
                    raise BrokenDocument(str(error)) from error
            except (RecursionError, ValueError) as error:  # nested too deeply, a number of thousands of digits
                raise BrokenDocument(str(error)) from error
            else:
                if end < len(self._text) or self._text[end - 1] in CLOSING or not self._read_more():
                    return value, end

    def _read_more(self) -> bool:
        """Read at least as much again as is left: an element of many blocks is then decoded only a few times."""
        self._count_lines()
        left = self._text[self._at :]
        if len(left) > MAX_ELEMENT:
            raise BrokenDocument(f"an element of more than {MAX_ELEMENT >> 20} MiB")
        parts, missing = [left], max(1, len(left))
        while missing > 0 and (piece := next(self._pieces, None)) is not None:
            parts.append(piece)
            missing -= len(piece)
        if len(parts) == 1:
            return False
        self._text, self._at, self._counted = "".join(parts), 0, 0
        return True

    def _count_lines(self) -> None:
        """Count the lines up to the current position."""
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
