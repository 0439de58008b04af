"""JSON lines of several writers by columns, block by block: the records that `jsonlines.reader` reads.

A line is of a shape where its quotation marks are as many as those of a line that was read before, its keys are the
same, and so is all between its strings but for digits. What such a line holds is known by the places of its quotation
marks. All other lines are read one by one, and the first of them teach further shapes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from leadsman.telemetry.batch import NO_TIME, Batch, Writers, spans_of, without_newlines
from leadsman.telemetry.formats import jsonlines, streams
from leadsman.telemetry.formats.escapes import BACKSLASH, NotDecoded, unescaped
from leadsman.telemetry.formats.grid import NoGrid, quotes
from leadsman.telemetry.formats.heads import Heads
from leadsman.telemetry.formats.line_shapes import PADDING, LineShape, Members

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from leadsman.telemetry.format import Record
    from leadsman.telemetry.formats.lines import Timing

    Numbers = NDArray[np.int64]

BLOCK_BYTES = 2 << 20
"""Of lines that are taken apart together: of hundreds of writers each should have several."""

MOST_SHAPES = 8
"""That are learnt of a file. Each costs a comparison of all lines that the ones before it do not know."""

MOST_LESSONS = 200
"""Lines from which a shape was to be learnt. Where they teach none, others will not either."""

FEW = 4
"""Lines below which a block is not worth its arrays."""

ESCAPE = re.compile(rb"\\(.)")
CONTROLS = frozenset((b"n", b"t", b"r", b"b", b"f"))
USUAL = CONTROLS | {b'"', b"\\"}
"""Escapes for which there is no other usual way to write."""

NEWLINE, SPACE = 10, 32
NOBODY = -1


def reader(path: str, timing: Timing) -> Callable[[Iterable[bytes]], Iterator[Batch]]:
    """Read what `jsonlines.reader` reads, many lines at once."""

    def batches(blocks: Iterable[bytes]) -> Iterator[Batch]:
        lines = JsonLines(path, timing)
        for number, data in streams.whole_lines(streams.gathered(blocks, BLOCK_BYTES)):
            batch = lines.batch(number, _as_utf_8(data))
            if len(batch.at):
                yield batch

    return batches


class Block:
    """Lines as arrays: where each begins and ends, and the places of quotation marks and backslashes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.padded = np.frombuffer(data + PADDING, np.uint8)
        held = self.padded[: len(data)]
        self.ends = np.append(np.flatnonzero(held == NEWLINE), len(data))
        self.starts = np.concatenate(([0], self.ends[:-1] + 1))
        self.quotes = quotes(held)
        self.first = np.searchsorted(self.quotes, self.starts)
        self.count = np.diff(np.append(self.first, len(self.quotes)))
        self.slashes = np.flatnonzero(held == BACKSLASH)
        controls = np.flatnonzero(held < SPACE)
        self.spoilt = np.zeros(len(self.starts), np.bool_)
        self.spoilt[np.searchsorted(self.ends, controls[held[controls] != NEWLINE])] = True

    def escapes_between(self, begin: Numbers, end: Numbers) -> Numbers:
        """Return how many backslashes each stretch holds."""
        counted: Numbers = np.searchsorted(self.slashes, end) - np.searchsorted(self.slashes, begin)
        return counted


class Rows:
    """The records of a block, line by line, as far as they are known. Lines of no shape are NOBODY's."""

    def __init__(self, count: int) -> None:
        self.at = np.full(count, NO_TIME)
        self.writer = np.full(count, NOBODY)
        self.begin = np.zeros(count, np.int64)
        self.end = np.zeros(count, np.int64)
        self.level = np.zeros(count, np.int64)
        self.is_shaped = np.zeros(count, np.bool_)
        self.is_record = np.ones(count, np.bool_)
        self.singly: dict[int, Record] = {}


class JsonLines:
    """One file, as far as it has been read: its writers, and the shapes of its lines."""

    def __init__(self, path: str, timing: Timing) -> None:
        self._path = path
        self._timing = timing
        self._writers = Writers()
        self._heads = Heads(self._writers)
        self._shapes: list[LineShape] = []
        self._lessons = 0
        self._names: dict[bytes, int] = {}
        self._levels: dict[bytes, int] = {b"": 0}
        self._prefixes: list[bytes] = [b""]

    def batch(self, number: int, data: bytes) -> Batch:
        """Return the lines of a block, of which the first is the file's `number`-th."""
        block = Block(data)
        rows = Rows(len(block.starts))
        if len(rows.at) >= FEW:
            self._learn(block, range(FEW))
            for shape in self._shapes:
                self._read_shape(block, shape, rows)
        self._one_by_one(block, rows, number)
        text, begin, end = self._texts(block, rows)
        kept = np.flatnonzero(rows.is_record)
        at, writer, begin, end = rows.at[kept], rows.writer[kept], begin[kept], end[kept]
        begins = self._heads.begins(writer, text, begin, end=end)
        return Batch(
            writers=self._writers,
            writer=writer,
            at=np.where(begins, at, NO_TIME),
            begins=begins,
            line=kept + number,
            text=text,
            begin=begin,
            end=end,
            quote=Quotes(block, rows, kept),
        )

    def _learn(self, block: Block, lines: Iterable[int]) -> bool:
        """Learn the shape of the first of some lines that has one that is new."""
        for line in lines:
            if len(self._shapes) >= MOST_SHAPES or self._lessons >= MOST_LESSONS:
                return False
            self._lessons += 1
            raw = block.data[block.starts[line] : block.ends[line]]
            if any(shape.knows(raw) for shape in self._shapes):
                continue
            try:
                self._shapes.append(LineShape(raw, self._path, self._timing))
            except NoGrid:
                continue
            return True
        return False

    def _read_shape(self, block: Block, shape: LineShape, rows: Rows) -> None:
        """Read the lines of one shape, but for those of which it does not know all."""
        lines = np.flatnonzero((block.count == shape.count) & ~rows.is_shaped & ~block.spoilt)
        if not len(lines):
            return
        table = block.quotes[block.first[lines][:, None] + np.arange(shape.count)]
        fits = shape.fits(block.padded, table, block.starts[lines], ends=block.ends[lines])
        lines, table = lines[fits], table[fits]
        if not len(lines):
            return
        members = Members(shape, table)
        at = shape.times(block.data, block.padded, table)
        begin, end = members.message
        inside = block.escapes_between(begin, end)
        outside = block.escapes_between(block.starts[lines], block.ends[lines]) - inside
        good = members.are_there & (outside == 0) & ((at != NO_TIME) | (not shape.is_timed))
        at = np.where(shape.is_indented(block.padded, begin), NO_TIME, at)
        chosen = np.flatnonzero(good)
        chosen = chosen[self._decodable(block, begin[chosen], end[chosen])]
        rows.is_shaped[lines[chosen]] = True
        for column, values in ((rows.at, at), (rows.begin, begin), (rows.end, end)):
            column[lines[chosen]] = values[chosen]
        rows.writer[lines[chosen]] = self._writer(block.data, members, chosen)
        rows.level[lines[chosen]] = self._level(block.data, members, chosen)

    @staticmethod
    def _decodable(block: Block, begin: Numbers, end: Numbers) -> NDArray[np.bool_]:
        """Say which messages are decoded as the standard library does. Most blocks hold none that is not."""
        raw = _joined(block.data, begin, end)
        fine = np.ones(len(begin), np.bool_)
        try:
            unescaped(raw, np.zeros(0, np.int64))
        except NotDecoded:
            for place, text in enumerate(raw.split(b"\n")):
                try:
                    unescaped(text, np.zeros(0, np.int64))
                except NotDecoded:
                    fine[place] = False
        return fine

    def _writer(self, data: bytes, members: Members, chosen: Numbers) -> Numbers:
        """Return the writer of each of the chosen lines."""
        if not members.subjects:
            return np.full(len(chosen), self._writers.number(None))
        parts = [_cut(data, begin[chosen], end[chosen]) for begin, end in members.subjects]
        names = parts[0] if len(parts) == 1 else list(map(b"/".join, zip(*parts, strict=True)))
        for name in dict.fromkeys(names):
            if name not in self._names:
                self._names[name] = self._writers.number(name.decode())
        return np.fromiter(map(self._names.__getitem__, names), np.int64, len(names))

    def _level(self, data: bytes, members: Members, chosen: Numbers) -> Numbers:
        """Return the number of what stands before each of the chosen lines' messages."""
        if members.level is None:
            return np.zeros(len(chosen), np.int64)
        begin, end = members.level
        levels = _cut(data, begin[chosen], end[chosen])
        for level in dict.fromkeys(levels):
            if level not in self._levels:
                self._levels[level] = len(self._prefixes)
                self._prefixes.append(f"[{level.decode().upper()}] ".encode())
        return np.fromiter(map(self._levels.__getitem__, levels), np.int64, len(levels))

    def _one_by_one(self, block: Block, rows: Rows, number: int) -> None:
        """Read the other lines. What is tried first of a line depends on the line before: that one is tried anew."""
        odd = np.flatnonzero(~rows.is_shaped).tolist()
        before = NOBODY
        for line in odd:
            raw = block.data[block.starts[line] : block.ends[line]]
            if not raw.strip():
                rows.is_record[line] = False
                continue
            if line and before != line - 1 and rows.is_shaped[line - 1]:
                self._timing.time_at(block.data, int(block.starts[line - 1]), int(block.ends[line - 1]))
            before = line
            record = next(streams.with_heads([jsonlines.read(raw, number + line, self._path, self._timing.time_at)]))
            rows.singly[line] = record
            rows.at[line] = NO_TIME if record.at is None else record.at
            rows.writer[line] = self._writers.number(record.subject)
        if len(rows.at) and rows.is_shaped[-1]:
            self._timing.time_at(block.data, int(block.starts[-1]), int(block.ends[-1]))
        self._learn(block, list(rows.singly)[:FEW])

    def _texts(self, block: Block, rows: Rows) -> tuple[bytes, Numbers, Numbers]:
        """Return the texts of all lines, and where each is."""
        lines = np.flatnonzero(rows.is_shaped)
        begin, end = rows.begin[lines], rows.end[lines]
        raw = _joined(block.data, begin, end)
        ends = np.cumsum(end - begin + 1)
        text, moved = unescaped(raw, np.append(ends - (end - begin + 1), len(raw) + 1))
        begin, end = moved[:-1], without_newlines(text, moved[:-1], moved[1:] - 1)
        if len(lines) == len(rows.at) and not rows.level.any():
            return text, begin, end
        texts = [b""] * len(rows.at)
        columns = (lines.tolist(), rows.level[lines].tolist(), begin.tolist(), end.tolist())
        for line, level, first, last in zip(*columns, strict=True):
            texts[line] = self._prefixes[level] + text[first:last]
        for line, record in rows.singly.items():
            texts[line] = record.text.encode()
        return b"\n".join(texts), *spans_of(texts)


class Quotes:
    """What stands in the file for the texts of some lines of a block."""

    def __init__(self, block: Block, rows: Rows, lines: Numbers) -> None:
        self._data = block.data
        self._begin, self._end = rows.begin[lines].tolist(), rows.end[lines].tolist()
        self._lines = np.column_stack((block.starts[lines], block.ends[lines]))
        places = np.searchsorted(lines, list(rows.singly)).tolist()
        self._singly = {place: each.quote for place, each in zip(places, rows.singly.values(), strict=True)}

    def __call__(self, record: int) -> str:
        """Return what `jsonlines.raw_span` finds.

        That looks for the text as it is, and for how it is usually written. Without escapes these are one; and no
        line holds a tab or a newline as it is.
        """
        if record in self._singly:
            return self._singly[record]
        message = self._data[self._begin[record] : self._end[record]]
        letters = set(ESCAPE.findall(message)) if b"\\" in message else set()
        if not letters or (letters <= USUAL and not letters.isdisjoint(CONTROLS)):
            return message.decode()
        start, end = self._lines[record].tolist()
        raw, text = self._data[start:end].decode(), jsonlines.unescaped(message.decode())
        assert text is not None
        begin, end = jsonlines.raw_span(raw, [text])
        return raw[begin:end]


def _joined(data: bytes, begin: Numbers, end: Numbers) -> bytes:
    return b"\n".join(_cut(data, begin, end))


def _cut(data: bytes, begin: Numbers, end: Numbers) -> list[bytes]:
    return [data[first:last] for first, last in zip(begin.tolist(), end.tolist(), strict=True)]


def _as_utf_8(data: bytes) -> bytes:
    return data if data.isascii() else data.decode("utf-8", "replace").encode()
