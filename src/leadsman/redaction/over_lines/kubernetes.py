"""Finds the values of Kubernetes' Secrets in YAML and JSON: none of their keys need name a secret."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman.redaction.harmless import is_placeholder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Span = tuple[int, int]

_KIND = re.compile(r"(?P<word>[\"']?kind)[\"']?[ \t]*:[ \t]*[\"']?Secret[\"']?,?[ \t\r]*$")
_DATA = re.compile(r"(?:- +)?[\"']?(?:data|stringData)[\"']?[ \t]*:[ \t]*\{?[ \t\r]*$")
_VALUE = re.compile(r"[\"']?[\w.\-]{1,253}[\"']?[ \t]*:[ \t]*[\"']?(?P<value>[^\s\"'].*?)[\"']?,?[ \t\r]*$")
_ON_ONE_LINE = re.compile(r"\\*\"kind\\*\"[ \t]*:[ \t]*\\*\"Secret\\*\"")
_OBJECT = re.compile(r"\\*\"(?:data|stringData)\\*\"[ \t]*:[ \t]*\{(?P<pairs>[^{}]*)\}")
_PAIR = re.compile(r"\\*\"[\w.\-]{1,253}\\*\"[ \t]*:[ \t]*\\*\"(?P<value>[^\"\\]+)")
_BLOCK = re.compile(r"[|>][+\-\d]{0,2}$")
MAX_LINES = 200
"""Lines above and below `kind: Secret` on which its data stand."""


def kind_at(text: str) -> int | None:
    """Return where a line says that an object is a Secret; None where it does not."""
    match = _KIND.search(text) if "ecret" in text else None
    return match.start("word") if match else None


def on_one_line(text: str) -> Iterator[Span]:
    """Yield the values of a Secret in JSON on one line."""
    if _ON_ONE_LINE.search(text):
        for data in _OBJECT.finditer(text):
            for pair in _PAIR.finditer(text, *data.span("pairs")):
                if not is_placeholder(pair["value"]):
                    yield pair.span("value")


def over_lines(lines: Sequence[str], candidates: Sequence[int]) -> Iterator[tuple[int, Span]]:
    """Yield the index and the place of each value of a Secret whose kind one of the candidates names."""
    seen: set[int] = set()
    for index in candidates:
        offset = kind_at(lines[index])
        if offset is not None and lines[index][:offset].strip() in ("", "-"):
            for number in _data_lines(lines, index):
                if number not in seen:
                    seen.add(number)
                    yield from _values(lines, number)


def _data_lines(lines: Sequence[str], index: int) -> Iterator[int]:
    """Yield where the object of this kind has data: lines as far indented as its kind."""
    indent = _indent(lines[index])
    for step in (-1, 1):
        for number in range(index + step, index + step * MAX_LINES, step):
            if not 0 <= number < len(lines):
                break
            text = lines[number].strip()
            if text and (_indent(lines[number]) < indent or text == "---"):
                break
            if _indent(lines[number]) == indent:
                if _KIND.fullmatch(text):
                    break  # another object
                if _DATA.fullmatch(text):
                    yield number


def _values(lines: Sequence[str], above: int) -> Iterator[tuple[int, Span]]:
    indent = _indent(lines[above])
    block: int | None = None
    for number in range(above + 1, min(len(lines), above + MAX_LINES)):
        line = lines[number]
        text = line.strip()
        if text and _indent(line) <= indent:
            return
        if block is not None and _indent(line) > block:
            start = len(line) - len(line.lstrip())
            yield number, (start, start + len(text))
            continue
        block = None
        match = _VALUE.match(line, len(line) - len(line.lstrip()))
        if match and _BLOCK.fullmatch(match["value"]):
            block = _indent(line)
        elif match and not is_placeholder(match["value"]):
            yield number, match.span("value")


def _indent(line: str) -> int:
    """Return how far a line is indented; the mark of a list's item counts."""
    bare = line.lstrip(" \t")
    return len(line) - len(bare[2:].lstrip(" ")) if bare.startswith("- ") else len(line) - len(bare)
