"""Documents of `aws logs` by columns, block by block: the records that `documents.reader` reads.

Where a record is not of the first one's shape, and at the end of their array, the rest of the document is read by
`documents`, beginning in that place.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from leadsman.telemetry.batch import Writers, in_batches, window, without_newlines
from leadsman.telemetry.formats import documents, jsons, streams
from leadsman.telemetry.formats.escapes import BACKSLASH, NotDecoded, unescaped
from leadsman.telemetry.formats.grid import Grid, NoGrid, Shape
from leadsman.telemetry.formats.json_stream import SPACE, Broken, Element, Walker, decoded, is_cut
from leadsman.telemetry.formats.stamps import iso_or_epoch
from leadsman.telemetry.formats.windows import Chunk, Windows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import tzinfo

    from numpy.typing import NDArray

    from leadsman.telemetry.batch import Batch
    from leadsman.telemetry.formats.stamps import Stamp

    Numbers = NDArray[np.int64]

KEYS = frozenset({"timestamp", "message", "ingestionTime", "eventId", "logStreamName"})
"""Members of records that are read by columns. Of others `documents` knows what they mean."""

LARGEST_REST = 8 << 20
"""Bytes in which no whole record is found, after which `documents` looks for one."""

DIGITS = 13
"""Of a time in milliseconds, from 2001 to 2286."""

NEWLINE, ZERO = 10, 48
AFTER_A_STRING = np.isin(np.arange(256), list(b" \t\r\n:,}]"))
"""What can stand behind a quotation mark that ends a string."""
BETWEEN_STRINGS = np.isin(np.arange(256), list(b' \t\r\n:,{}[]"-0123456789tfnNI'))
"""What can follow there: blanks, marks, and the beginnings of all that is no string."""
SHORT = 8
"""Bytes by which messages are told from other strings of a record. What is not longer is read by `documents`."""


def reader(zone: tzinfo) -> Callable[[Iterable[bytes]], Iterator[Batch]]:
    """Read what `documents.reader` reads, many records at once."""

    def batches(blocks: Iterable[bytes]) -> Iterator[Batch]:
        yield from Document(iso_or_epoch(zone)).batches(decoded(blocks))

    return batches


def is_zoned(head: bytes, zone: tzinfo, other: tzinfo) -> bool:
    """Say whether the times of a document that begins so are the same whichever of two zones is meant by default."""
    text = "".join(decoded([head]))
    beginning = _beginning(text)
    if beginning is not None:  # those of its shape count from 1970, and need not be looked at
        rest = text[len(beginning.head) :].encode()
        ends = _grid(beginning.shape, rest, 0).end
        text = beginning.head + rest[ends[-1] if len(ends) else 0 :].decode()
    return not documents.has_written_times(text) or documents.agree(head, zone, other)


class Beginning(NamedTuple):
    """What is learnt of a document from its first two records: `head` is what stands before them."""

    head: str
    shape: Shape
    worker: str | None


@dataclass(slots=True)
class Place:
    """How far a document has been read: `data` is what is there from here on, `line` the line on which it begins."""

    data: bytes
    line: int

    @property
    def blank(self) -> int:
        """Where the next record begins."""
        return len(self.data) - len(self.data.lstrip(b" \t\r\n\v\f,"))

    @property
    def breaks_off(self) -> bool:
        """Whether the next record is not yet there to its end: then, and only then, `Walker` reads on as well."""
        rest = self.data[self.blank :]
        if not rest:
            return True
        if rest[:1] != b"{" or len(rest) > LARGEST_REST:
            return False
        text = rest.decode()
        try:
            documents.DECODER.raw_decode(text)
        except json.JSONDecodeError as error:
            return is_cut(error, text)
        except (RecursionError, ValueError):
            return False
        return False

    def more(self, pieces: Iterator[str]) -> bool:
        """Read on, as much as `Walker` does: at least as much as there is of the next record."""
        missing = max(1, len(self.data[self.blank :].decode()))
        parts = [self.data]
        while missing > 0 and (piece := next(pieces, None)) is not None:
            parts.append(piece.encode())
            missing -= len(piece)
        self.data = b"".join(parts)
        return len(parts) > 1


class Document:
    """One document's way through both readers."""

    def __init__(self, read: Stamp) -> None:
        self._read = read
        self._writers = Writers()
        self._windows = Windows(self._writers)
        self._names: dict[bytes, int] = {}

    def batches(self, pieces: Iterator[str]) -> Iterator[Batch]:
        """Yield the records of the document."""
        text = next(pieces, "")
        beginning = _beginning(text)
        if beginning is None:
            yield from self._by_records("", text, pieces, skipped=0)
            return
        head = beginning.head
        place = Place(text[len(head) :].encode(), 1 + head.count("\n"))
        is_there = True
        while is_there:
            goes_on = self._read_block(place, beginning)
            yield from self._windows.whole()  # before reading on, which may fail
            is_there = goes_on and place.more(pieces)
        skipped = place.line - 1 - head.count("\n")
        yield from self._by_records(head, place.data.decode(), pieces, skipped=skipped)

    def _by_records(self, head: str, rest: str, pieces: Iterator[str], *, skipped: int) -> Iterator[Batch]:
        """Read what is left as `documents` does, `skipped` lines further down; with it what waits to be sorted."""
        records = documents.records_of(chain((head + rest,), pieces), self._read)
        first = next(records, None)
        if first is None:
            yield from self._windows.last()
            return
        left = (replace(record, line=record.line + skipped) for record in chain((first,), records))
        windows = documents.windows(chain(self._windows.waiting(), left))
        known = self._windows.heads()
        yield from in_batches(streams.with_heads(chain.from_iterable(windows), known), self._writers)

    def _read_block(self, place: Place, beginning: Beginning) -> bool:
        """Read the records of the shape that there are. Return whether more of them may follow."""
        grid = _grid(beginning.shape, place.data, place.blank)
        if not len(grid.begin):
            return place.breaks_off
        try:
            chunk = self._chunk(place, grid, beginning)
        except (NoGrid, NotDecoded):
            return False
        end = int(grid.end[-1])
        self._windows.add(chunk)
        place.line += int(np.count_nonzero(np.frombuffer(place.data, np.uint8)[:end] == NEWLINE))
        place.data = place.data[end:]
        return place.breaks_off

    def _chunk(self, place: Place, grid: Grid, beginning: Beginning) -> Chunk:
        data, columns = place.data, beginning.shape.columns
        held = np.frombuffer(data, np.uint8)
        begin, end = grid.quotes[:, columns["message"] + 2] + 1, grid.quotes[:, columns["message"] + 3]
        spans = zip(begin.tolist(), end.tolist(), strict=True)
        raw = b"\n".join([data[first:last] for first, last in spans])
        slashes = np.count_nonzero(held[grid.begin[0] : grid.end[-1]] == BACKSLASH)  # twice as fast as `bytes.count`
        if slashes != np.count_nonzero(np.frombuffer(raw, np.uint8) == BACKSLASH):
            raise NoGrid("escapes elsewhere")
        ends = np.cumsum(end - begin + 1)
        starts = ends - (end - begin + 1)
        text, moved = unescaped(raw, np.append(starts, len(raw) + 1))
        newlines = np.flatnonzero(held[: grid.end[-1]] == NEWLINE)
        above = np.searchsorted(newlines, begin)
        chunk = Chunk(
            at=_times(held, grid.quotes[:, columns["timestamp"] + 1] + 1),
            writer=self._writer(data, grid, beginning),
            line=above + place.line,
            text=text,
            begin=moved[:-1],
            end=without_newlines(text, moved[:-1], moved[1:] - 1),
            raw=raw,
            raw_begin=starts,
            raw_end=ends - 1,
        )
        odd = (begin == end) | (np.searchsorted(newlines, end) != above)
        odd |= self._ambiguous(held, grid, beginning.shape, begin=begin, end=end)
        return self._without(np.flatnonzero(odd), chunk, place, grid=grid, newlines=newlines)

    def _writer(self, data: bytes, grid: Grid, beginning: Beginning) -> Numbers:
        column = beginning.shape.columns.get("logStreamName")
        if column is None:
            return np.full(len(grid.begin), self._writers.number(beginning.worker))
        begin, end = (grid.quotes[:, column + 2] + 1).tolist(), grid.quotes[:, column + 3].tolist()
        names = [data[first:last] for first, last in zip(begin, end, strict=True)]
        for name in dict.fromkeys(names):
            if name not in self._names:
                self._names[name] = self._writers.number(name.decode() or beginning.worker)
        return np.fromiter(map(self._names.__getitem__, names), np.int64, len(names))

    @staticmethod
    def _ambiguous(
        held: NDArray[np.uint8], grid: Grid, shape: Shape, *, begin: Numbers, end: Numbers
    ) -> NDArray[np.bool_]:
        """Say which messages, in quotation marks, might be found elsewhere in their record too."""
        first, second, third = (held[begin + place] for place in range(3))
        tab = (first == BACKSLASH) & (second == ord("t"))
        second = np.where(tab, third, second)
        marks = (AFTER_A_STRING[first] | tab) & BETWEEN_STRINGS[second]
        ambiguous: NDArray[np.bool_] = marks | ((first == BACKSLASH) & ~tab) | (end - begin <= SHORT)
        beginnings = window(held, SHORT)
        own = beginnings[begin]
        for key, column in shape.columns.items():
            others = [grid.quotes[:, column] + 1]
            if key in ("eventId", "logStreamName"):
                others.append(grid.quotes[:, column + 2] + 1)
            for other in others:
                known = np.minimum(other, len(beginnings) - 1)  # a shorter value, at the end, begins as no message does
                ambiguous |= (own == beginnings[known]).all(axis=1)
        return ambiguous

    def _without(self, odd: Numbers, chunk: Chunk, place: Place, *, grid: Grid, newlines: Numbers) -> Chunk:
        """Return the records with those in the place of odd ones that `documents` finds there."""
        if not len(odd):
            return chunk
        above = np.searchsorted(newlines, grid.begin[odd]).tolist()
        texts, raws, line = chunk.texts(), chunk.raws(), chunk.line.copy()
        for record, lines in zip(odd.tolist(), above, strict=True):
            begin, end = int(grid.begin[record]), int(grid.end[record])
            raw = place.data[begin:end].decode()
            found = list(documents.found_in(raw, documents.DECODER.decode(raw), self._read))
            if len(found) != 1:
                raise NoGrid("no record, or several")
            _, _, message, first, last = found[0]
            texts[record], raws[record] = message.encode(), raw[first:last].split("\n", 1)[0].encode()
            line[record] = place.line + lines + raw.count("\n", 0, first)
        return replace(chunk, line=line).with_texts(texts, raws)


def _times(held: NDArray[np.uint8], after: Numbers) -> Numbers:
    """Return the numbers of thirteen digits that follow a key. Raises NoGrid where there are others."""
    first = int(after[0])
    colon = next((place for place in range(16) if ZERO <= held[first + place] < ZERO + 10), None)
    if colon is None:
        raise NoGrid("no number")
    digits = window(held, DIGITS + 1)[after + colon] - np.uint8(ZERO)
    if (digits[:, :DIGITS] > 9).any() or ((digits[:, DIGITS] < 10) | np.isin(digits[:, DIGITS], list(NO_END))).any():  # noqa: PLR2004 - digits
        raise NoGrid("no time in milliseconds")
    return (digits[:, :DIGITS] @ POWERS).astype(np.int64)


NO_END = {(ord(mark) - ZERO) % 256 for mark in ".eE"}
POWERS = 10.0 ** np.arange(DIGITS - 1, -1, -1)
"""Exact: below 2 ** 53."""


@lru_cache(1)
def _grid(shape: Shape, data: bytes, start: int) -> Grid:
    """Remember the last one: a small document is told by all of it, and then read."""
    return shape.grid(data, start)


@lru_cache(1)
def _beginning(text: str) -> Beginning | None:
    """Return how a document begins whose records can be read by columns; None where it is no such."""
    walker = Walker([text], documents.RECORDS, documents.DECODER)
    found: list[tuple[Element, int]] = []
    try:
        for element in walker.elements():
            found.append((element, walker.place))
            if len(found) > 1:
                break
    except Broken:
        return None
    if len(found) < 2:  # noqa: PLR2004 - what stands between records is learnt from two
        return None
    (first, end), (second, second_end) = found
    between = text[end : second_end - len(second.raw)]
    value = first.value
    if not isinstance(value, dict) or not value.keys() <= KEYS or not SPACE.fullmatch(between):
        return None
    if not isinstance(value.get("timestamp"), int) or not isinstance(value.get("message"), str):
        return None
    try:
        shape = Shape(first.raw.encode(), value, between.encode())
    except NoGrid:
        return None
    return Beginning(text[: end - len(first.raw)], shape, jsons.text_at(first.context, documents.WORKER_KEYS))
