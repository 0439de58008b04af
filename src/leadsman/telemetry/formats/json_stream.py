"""Walks the elements of a JSON document as it comes: of a document of gigabytes, one element is held at a time.

A parser of the standard library decodes each element. What it says of a text that ends too early tells whether there is
more to be read: so a document is never parsed twice, and where each element stands is known.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LARGEST_ELEMENT = 256 << 20
"""Characters. A stream of Loki's is one element, with all its lines."""

SPACE = re.compile(r"[\s,]*")
COLON = re.compile(r"\s*:\s*")
CUT = 16
"""Characters before the end in which a text that is cut off shows: a number, a word or an escape is no longer."""

ENDS = frozenset('"]}')
"""What a value ends with that cannot go on: a number at the end of what has come may have more digits."""

Path = tuple[str, ...]


class Element(NamedTuple):
    """A record of a document: as it stands there, the line on which it begins, its value, and its document's members.

    Only those members are known that stand before it.
    """

    raw: str
    line: int
    value: Any
    context: dict[str, Any]


class Where(NamedTuple):
    """Which members of a document are walked through, and the elements of which arrays are its records."""

    through: frozenset[Path]
    arrays: frozenset[Path]


class Broken(ValueError):
    """The document breaks off or is none."""


def decoded(blocks: Iterable[bytes]) -> Iterator[str]:
    """Return the blocks as text, wherever they cut a character."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    return (decoder.decode(block) for block in blocks)


def is_cut(error: json.JSONDecodeError, text: str) -> bool:
    """Say whether a text may be no JSON because it ends too early."""
    return error.msg.startswith("Unterminated string") or error.pos >= len(text) - CUT


class Walker:
    """A document's text, as far as it has come, and how far it has been walked. What lies behind is let go."""

    def __init__(self, pieces: Iterable[str], where: Where, decoder: json.JSONDecoder) -> None:
        self.is_inside = False  # an element has begun and not ended
        self.ended = 0  # documents that were walked to their ends
        self._pieces = iter(pieces)
        self._where = where
        self._decoder = decoder
        self._text = ""
        self._at = 0
        self._line = 1  # of the place up to which newlines have been counted
        self._counted = 0

    @property
    def place(self) -> int:
        """Where in the text that is still there the walk has come to."""
        return self._at

    def elements(self) -> Iterator[Element]:
        """Yield the records of one document, or of several in a row. Raises Broken where it breaks."""
        while self._found():
            yield from self._walk((), {})
            self.ended += 1

    def _walk(self, path: Path, context: dict[str, Any]) -> Iterator[Element]:
        first = self._mark()
        if first == "{" and path in self._where.through:
            yield from self._members(path, context)
        elif first == "[" and path in self._where.arrays:
            yield from self._items(context)
        else:
            value, self._at = self._decoded()
            if path:
                context[path[-1]] = value

    def _members(self, path: Path, context: dict[str, Any]) -> Iterator[Element]:
        self._at += 1
        while self._mark() != "}":
            key, self._at = self._decoded()
            if not isinstance(key, str) or self._mark() != ":":
                raise Broken("no member")
            self._at += 1
            yield from self._walk((*path, key), context)
        self._at += 1

    def _items(self, context: dict[str, Any]) -> Iterator[Element]:
        self._at += 1
        while self._mark() != "]":
            self.is_inside = True
            value, end = self._decoded()
            self.is_inside = False
            self._count()
            line, raw = self._line, self._text[self._at : end]
            self._at = end
            yield Element(raw, line, value, context)
        self._at += 1

    def _found(self) -> bool:
        """Pass over blanks and commas, and say whether anything follows."""
        while True:
            space = SPACE.match(self._text, self._at)
            assert space is not None
            self._at = space.end()
            if self._at < len(self._text):
                return True
            if not self._more():
                return False

    def _mark(self) -> str:
        if not self._found():
            raise Broken("it breaks off")
        return self._text[self._at]

    def _decoded(self) -> tuple[Any, int]:
        """Return the value that begins here and where it ends, with as much more of the document as that takes."""
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if not is_cut(error, self._text) or not self._more():
                    raise Broken(str(error)) from error
            except (RecursionError, ValueError) as error:  # nested too deeply, a number of thousands of digits
                raise Broken(str(error)) from error
            else:
                if end < len(self._text) or self._text[end - 1] in ENDS or not self._more():
                    return value, end

    def _more(self) -> bool:
        """Read on, at least as much as there is: an element that takes many pieces is then begun few times."""
        self._count()
        rest = self._text[self._at :]
        if len(rest) > LARGEST_ELEMENT:
            raise Broken(f"an element of more than {LARGEST_ELEMENT >> 20} MiB")
        parts, missing = [rest], max(1, len(rest))
        while missing > 0 and (piece := next(self._pieces, None)) is not None:
            parts.append(piece)
            missing -= len(piece)
        if len(parts) == 1:
            return False
        self._text, self._at, self._counted = "".join(parts), 0, 0
        return True

    def _count(self) -> None:
        """Count the lines up to here."""
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
