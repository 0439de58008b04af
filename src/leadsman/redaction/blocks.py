"""Finds values that stand on other lines than their keys: YAML blocks, continued lines, elements, names and values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman.redaction.harmless import is_placeholder
from leadsman.redaction.keys import ends_with_value, key_at_end, name_slot, value_slot_spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Span = tuple[int, int]

_BLOCK = re.compile(r"[|>][+\-]?\d?[+\-]?[ \t\r]*(?:#[^\n]*)?$")
_CONTINUED = re.compile(r"(?<!\\)(?:\\\\)*\\\r?$")
_DATED = re.compile(r"\W?\d{4}[-/]\d\d[-/]\d\d")
_MAPPING = re.compile(r"(?:- +)?\\*[\"']?[\w.\-/]{1,100}\\*[\"']?[ \t]*:(?:[ \t]|$)|- |[{\[]|<|\w[\w.\-]*[ \t]*=")
MAX_LINES = 100
"""Lines that one value has."""

SLOT_LINES = 2
"""Lines above or below a name on which its value stands."""


def block_spans(lines: Sequence[str], candidates: Sequence[int]) -> Iterator[tuple[int, Span]]:
    """Yield the index and the place of each line of a value whose key stands on another line."""
    for index in candidates:
        line = lines[index]
        if key_at_end(line):
            yield from _below(lines, index)
        if _CONTINUED.search(line):
            yield from _continued(lines, index)
        if name_slot(line):
            yield from _beside(lines, index)


def _below(lines: Sequence[str], index: int) -> Iterator[tuple[int, Span]]:
    indent = _indent(lines[index])
    if _CONTINUED.search(lines[index]):
        return
    if _BLOCK.search(lines[index]) and not lines[index].rstrip().endswith("/>") and "<" not in lines[index]:
        for number in range(index + 1, min(len(lines), index + MAX_LINES)):
            if lines[number].strip() and _indent(lines[number]) <= indent:
                return
            yield from _content(lines, number)
    elif _is_value(lines, index + 1, indent):
        yield from _content(lines, index + 1)


def _is_value(lines: Sequence[str], number: int, indent: int) -> bool:
    """Whether a line below a key is its value, and no mapping, list or further key."""
    return number < len(lines) and _indent(lines[number]) > indent and not _MAPPING.match(lines[number].strip())


def _continued(lines: Sequence[str], index: int) -> Iterator[tuple[int, Span]]:
    """Yield the lines that continue an assignment: their keys are looked at, and what has none is the value."""
    if not ends_with_value(lines[index]):
        return
    number = index
    while number + 1 < min(len(lines), index + MAX_LINES) and _CONTINUED.search(lines[number]):
        number += 1
        if _DATED.match(lines[number]):
            return  # the next record of a log
        yield from _content(lines, number)


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
