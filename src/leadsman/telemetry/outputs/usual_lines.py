"""Parses the lines of a table many at a time, where a program prints nearly all of them in one layout."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple, cast

from leadsman.telemetry.line_records.text_lines import MAX_LINE_BYTES, complete_lines
from leadsman.telemetry.outputs.parser import EventColumns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Column = Sequence[str]


LINES_TRIED = 8


class Lines(NamedTuple):
    """Lines that stand one below the other: the number of the first, and their texts without their ends.

    `is_ascii`: a character of them is a byte.
    """

    first: int
    texts: list[str]
    is_ascii: bool


def lines_by_block(blocks: Iterable[bytes], max_bytes: int = MAX_LINE_BYTES) -> Iterator[Lines]:
    """Yield all lines, those of a block together. A line longer than `max_bytes` is cut there."""
    for number, joined in complete_lines(blocks, max_bytes):
        is_ascii = joined.isascii()
        if is_ascii:
            yield Lines(number, joined.decode("ascii").split("\n"), is_ascii)
        else:
            yield Lines(number, [line.decode("utf-8", "replace") for line in joined.split(b"\n")], is_ascii)


class LayoutColumns(NamedTuple):
    """Lines as a layout reads them. `usual` are the places of those that have it, `columns` their groups.

    `odd` are the places of the other lines, without those that `nothing` matches.
    """

    usual: Sequence[int]
    columns: Sequence[Column]
    odd: Sequence[int]

    def texts(self, lines: Lines) -> Sequence[str]:
        """Return those of the lines that have the layout."""
        return lines.texts if len(self.usual) == len(lines.texts) else [lines.texts[index] for index in self.usual]

    def numbers(self, lines: Lines) -> Sequence[int]:
        """Return their numbers."""
        if isinstance(self.usual, range):
            return range(lines.first + self.usual.start, lines.first + self.usual.stop)
        return [lines.first + index for index in self.usual]


class UsualLayout:
    """One layout of whole lines: a pattern of ASCII text, of which the first group is never empty.

    What it reads must be what the reader of single lines reads: the property test in `tests/telemetry` compares both.
    `nothing` is for lines of which that reader makes nothing.
    """

    def __init__(self, pattern: str, nothing: str = "") -> None:
        ignored = f"|{nothing}" if nothing else ""
        # Texts and what is between lines in one list: `findall` would make a tuple for each line.
        self._split = re.compile(rf"^(?:(?:{pattern}){ignored}|(.*))$", re.MULTILINE).split
        self._match = re.compile(pattern).match
        self.groups = re.compile(pattern).groups

    def fits(self, lines: Lines) -> bool:
        """Whether one of the first lines seems to have the layout."""
        return any(map(self._match, lines.texts[:LINES_TRIED]))

    def rows(self, lines: Lines) -> LayoutColumns:
        """Return the lines that have the layout, column by column, and which others there are."""
        step = self.groups + 2
        found = self._split("\n".join(lines.texts)) if lines.is_ascii else []
        if len(found) != len(lines.texts) * step + 1:
            return LayoutColumns(range(0), [()] * self.groups, range(len(lines.texts)))
        *columns, other = (found[group::step] for group in range(1, step))
        if all(columns[0]):
            return LayoutColumns(range(len(lines.texts)), list(map(_empty_for_none, columns)), ())
        usual = [index for index, text in enumerate(columns[0]) if text]
        odd = [index for index, text in enumerate(other) if text]
        of_usual = (list(compress(column, columns[0])) for column in columns)
        return LayoutColumns(usual, list(map(_empty_for_none, of_usual)), odd)


def _empty_for_none(column: Sequence[str | None]) -> Column:
    """Return a column with an empty text where a group took no part."""
    return [text or "" for text in column] if None in column else cast("Column", column)


def merged(parts: Iterable[EventColumns | None]) -> EventColumns | None:
    """Return events of one name as one, in the order of their lines. Each part has labels, lines and texts only."""
    found = [part for part in parts if part is not None and len(part.lines)]
    if len(found) < 2:  # noqa: PLR2004 - two can be merged
        return found[0] if found else None
    names = dict.fromkeys(name for part in found for name in part.labels)
    labels = {name: [text for part in found for text in _label(part, name)] for name in names}
    lines = [line for part in found for line in part.lines]
    texts = [text for part in found for text in part.texts]
    order = sorted(range(len(lines)), key=lines.__getitem__)
    return EventColumns(
        name=found[0].name,
        lines=[lines[index] for index in order],
        texts=[texts[index] for index in order],
        labels={name: [column[index] for index in order] for name, column in labels.items()},
    )


def _label(part: EventColumns, name: str) -> Sequence[str | None]:
    column = part.labels.get(name)
    return [column] * len(part.lines) if column is None or isinstance(column, str) else column


def pieces(events: EventColumns | None, count: int) -> Iterator[EventColumns]:
    """Yield the events, so many together at most: a document of a million entries must not become one batch."""
    total = 0 if events is None else len(events.lines)
    for since in range(0, total, count):
        assert events is not None
        part = slice(since, since + count)
        labels = {name: each if isinstance(each, str) else each[part] for name, each in events.labels.items()}
        yield replace(events, lines=events.lines[part], texts=events.texts[part], labels=labels)
