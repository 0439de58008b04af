"""Java properties, kernel settings (sysctl.d) and environment files: a name, a separator and a value per line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.code.syntax import Span
from leadsman.gate.documents.tree import Document, Tree
from leadsman.gate.reader import Reader

if TYPE_CHECKING:
    from collections.abc import Iterator

SEPARATORS = "=: \t\f"
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}


def parse_properties(text: str, first_line: int = 1) -> Tree:
    """Return the pairs of a text in Java's format, with continued lines."""
    root = Tree("mapping", Span(first_line, 1, first_line, 1))
    for number, indent, line in _logical_lines(text, first_line):
        end = _key_end(line)
        rest = line[end:].lstrip(" \t\f")
        if rest[:1] in {"=", ":"}:
            rest = rest[1:].lstrip(" \t\f")
        key, value = _unescape(line[:end]), _unescape(rest).rstrip()
        key_span = Span(number, indent + 1, number, indent + 1 + end)
        start = indent + 1 + len(line) - len(rest)
        root.pairs.append(
            (key, key_span, Tree("value", Span(number, start, number, start + len(rest.rstrip())), value))
        )
    return root


def _logical_lines(text: str, first_line: int) -> Iterator[tuple[int, int, str]]:
    """Yield number, indentation and text of each line with content; a backslash at the end continues a line."""
    continued = ""
    start, indent = first_line, 0
    for number, line in enumerate(text.splitlines(), first_line):
        stripped = line.lstrip(" \t\f")
        if not continued:
            if not stripped or stripped[0] in "#!;":
                continue
            start, indent = number, len(line) - len(stripped)
        continued += stripped
        if _is_continued(continued):
            continued = continued[:-1]
        else:
            yield start, indent, continued
            continued = ""
    if continued:
        yield start, indent, continued


def _is_continued(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _key_end(line: str) -> int:
    """Return where the key ends: at the first separator without a backslash before it."""
    position = 0
    while position < len(line) and line[position] not in SEPARATORS:
        position += 2 if line[position] == "\\" else 1
    return min(position, len(line))


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    parts, position = [], 0
    while position < len(text):
        if text[position] == "\\" and position + 1 < len(text):
            position += 1
            parts.append(ESCAPES.get(text[position], text[position]))
        else:
            parts.append(text[position])
        position += 1
    return "".join(parts)


def _read(text: str) -> list[Document]:
    return [Document(parse_properties(text), "properties")]


READER = Reader(
    language="properties",
    suffixes=(".properties", ".conf", ".env"),
    names=(".env",),
    is_program=False,
    comment="#",
    read=_read,
)
