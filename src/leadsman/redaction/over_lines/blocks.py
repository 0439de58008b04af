"""Finds values that stand on other lines than their keys: YAML blocks, continued lines, elements, names and values."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leadsman.redaction.harmless import is_placeholder
from leadsman.redaction.keys import assigned_key, ends_with_value, key_at_end, name_slot, value_slot_spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Span = tuple[int, int]

_BLOCK = re.compile(r"[|>][+\-]?\d?[+\-]?[ \t\r]*(?:#[^\n]*)?$")
_CONTINUED = re.compile(r"(?<!\\)(?:\\\\)*\\\r?$")
_TEXT = re.compile(r"(\"{3}|'{3})[ \t\r]*$")
_DATED = re.compile(r"\W?\d{4}[-/]\d\d[-/]\d\d")
_MAPPING = re.compile(r"(?:- +)?\\*[\"']?[\w.\-/]{1,100}\\*[\"']?[ \t]*:(?:[ \t]|$)|- |[{\[]|<|\w[\w.\-]*[ \t]*=")
MAX_LINES = 100
"""Lines that one value has."""

SLOT_LINES = 2
"""Lines above or below a name on which its value stands."""


def continued_key(text: str) -> re.Match[str] | None:
    """Return the key of a secret in a line that a backslash continues."""
    return assigned_key(text) if _CONTINUED.search(text) else None


def block_spans(lines: Sequence[str], candidates: Sequence[int]) -> Iterator[tuple[int, Span]]:
    """Yield the index and the place of each line of a value whose key stands on another line.

    `candidates` are indexes of lines, in their order. Each line is looked at once, however many keys reach it.
    """
    yield from _Blocks(lines).spans(candidates)


@dataclass(slots=True)
class _Blocks:
    """Lines, which of them are values as a whole, and how far the last continued assignment reaches."""

    lines: Sequence[str]
    values: set[int] = field(default_factory=set)
    continued_to: int = -1

    def spans(self, candidates: Sequence[int]) -> Iterator[tuple[int, Span]]:
        for index in candidates:
            line = self.lines[index]
            if key_at_end(line):
                yield from self._below(index)
            if _CONTINUED.search(line):
                yield from self._continued(index)
            if name_slot(line):
                yield from _beside(self.lines, index)

    def _below(self, index: int) -> Iterator[tuple[int, Span]]:
        lines = self.lines
        indent = _indent(lines[index])
        if _CONTINUED.search(lines[index]):
            return
        if opening := _TEXT.search(lines[index]):
            yield from self._text(index, opening[1])
            return
        if _BLOCK.search(lines[index]) and not lines[index].rstrip().endswith("/>") and "<" not in lines[index]:
            for number in range(index + 1, min(len(lines), index + MAX_LINES)):
                if lines[number].strip() and _indent(lines[number]) <= indent:
                    return
                yield from self._value(number)
        elif _is_value(lines, index + 1, indent):
            yield from self._value(index + 1)

    def _text(self, index: int, quotes: str) -> Iterator[tuple[int, Span]]:
        """Yield the lines of a text in three quotes, as TOML and Python write it."""
        for number in range(index + 1, min(len(self.lines), index + MAX_LINES)):
            line = self.lines[number]
            if _DATED.match(line):
                return  # the next record of a log
            end = line.find(quotes)
            text = (line if end < 0 else line[:end]).strip()
            if text and not is_placeholder(text) and number not in self.values:
                self.values.add(number)
                yield number, (line.index(text), line.index(text) + len(text))
            if end >= 0:
                return

    def _continued(self, index: int) -> Iterator[tuple[int, Span]]:
        """Yield the lines that continue an assignment: their keys are looked at, and what has none is the value."""
        if not ends_with_value(self.lines[index]):
            return
        number = max(index, self.continued_to)  # the lines to there continue an earlier one, which has yielded them
        while number + 1 < min(len(self.lines), index + MAX_LINES) and _CONTINUED.search(self.lines[number]):
            number += 1
            if _DATED.match(self.lines[number]):
                return  # the next record of a log
            self.continued_to = number
            yield from self._value(number)

    def _value(self, number: int) -> Iterator[tuple[int, Span]]:
        if number not in self.values:
            self.values.add(number)
            yield from _content(self.lines, number)


def _is_value(lines: Sequence[str], number: int, indent: int) -> bool:
    """Whether a line below a key is its value, and no mapping, list or further key."""
    return number < len(lines) and _indent(lines[number]) > indent and not _MAPPING.match(lines[number].strip())


def _beside(lines: Sequence[str], index: int) -> Iterator[tuple[int, Span]]:
    if any(True for _ in value_slot_spans(lines[index])):
        return
    for number in (*range(index + 1, index + 1 + SLOT_LINES), *range(index - 1, index - 1 - SLOT_LINES, -1)):
        if 0 <= number < len(lines):
            spans = list(value_slot_spans(lines[number]))
            if spans:
                yield from ((number, span) for span in spans)
                return


def _content(lines: Sequence[str], number: int) -> Iterator[tuple[int, Span]]:
    text = lines[number].rstrip().rstrip("\\").rstrip().rstrip(",").strip()
    text = text.strip("\"'") if text[:1] in "\"'" else text
    if text and not is_placeholder(text):
        begin = lines[number].index(text)
        yield number, (begin, begin + len(text))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))
