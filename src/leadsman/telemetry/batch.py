"""Many records of a file column by column: what a reader hands out that takes whole blocks apart at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from leadsman.telemetry.format import Record

NO_TIME = int(np.iinfo(np.int64).min)

RECORDS_A_BATCH = 4000
"""Enough that the work for each batch and writer vanishes, few enough to weigh a few megabytes."""

LARGEST_BATCH = 4 << 20
"""Characters of texts."""

NEWLINE = 10


class Writers:
    """The writers of a file, numbered as they are met. None is a record that names nobody."""

    def __init__(self) -> None:
        self.names: list[str | None] = []
        self._numbers: dict[str | None, int] = {}

    def number(self, name: str | None) -> int:
        """Return the number of a writer."""
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self.names)
            self.names.append(name)
        return number


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Records in the order in which they are read, column by column; each of them is what `Record` says.

    `at` is NO_TIME where there is none; `begins` is False for records that continue an earlier one of their writer: its
    first line is their head. The texts stand in `text`, parted by one newline each: record `i` from `begin[i]` to
    `end[i]`. `quote` returns that of a record, if not its text: few are asked for. `heads` are those that the reader
    knows.
    """

    writers: Writers
    writer: NDArray[np.int64]
    at: NDArray[np.int64]
    begins: NDArray[np.bool_]
    line: NDArray[np.int64]
    text: bytes
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    quote: Callable[[int], str] | None = None
    heads: Mapping[int, str] = field(default_factory=dict)

    def text_of(self, record: int) -> str:
        """Return the text of a record."""
        return self.text[self.begin[record] : self.end[record]].decode("utf-8", "replace")

    def quote_of(self, record: int) -> str:
        """Return the quote of a record."""
        return self.text_of(record) if self.quote is None else self.quote(record)

    def text_and_quote(self, record: int) -> tuple[str, str]:
        """Return both."""
        text = self.text_of(record)
        return text, text if self.quote is None else self.quote(record)

    def first_line(self, record: int) -> str:
        """Return the first line of a record's text."""
        return self.text_of(record).split("\n", 1)[0]


def window(data: NDArray[np.uint8], width: int) -> NDArray[np.uint8]:
    """Return a view: for each place the bytes that begin there. NumPy's own takes 0.1 ms a call."""
    return np.ndarray((max(0, len(data) - width + 1), width), np.uint8, data.data, strides=(1, 1))


def spans_of(texts: Sequence[bytes]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each text begins and ends once they are joined with a byte between them."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    ends = np.cumsum(lengths + 1) - 1
    return ends - lengths, ends


def without_newlines(text: bytes, begin: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the texts end without the newlines at their ends."""
    held = np.frombuffer(text, np.uint8)
    end = end.copy()
    left = np.flatnonzero(end > begin)
    while len(left := left[held[end[left] - 1] == NEWLINE]):
        end[left] -= 1
        left = left[end[left] > begin[left]]
    return end


def of_records(records: Sequence[Record], writers: Writers) -> Batch:
    """Return the records as a batch."""
    texts = [record.text.encode() for record in records]
    begin, end = spans_of(texts)
    count = len(records)
    return Batch(
        writers=writers,
        writer=np.fromiter((writers.number(record.subject) for record in records), np.int64, count),
        at=np.fromiter((NO_TIME if record.at is None else record.at for record in records), np.int64, count),
        begins=np.fromiter((record.head is None for record in records), np.bool_, count),
        line=np.fromiter((record.line for record in records), np.int64, count),
        text=b"\n".join(texts),
        begin=begin,
        end=end,
        quote=[record.quote for record in records].__getitem__,
        heads={place: record.head for place, record in enumerate(records) if record.head},
    )


def batched(
    read: Callable[[Iterable[bytes]], Iterator[Record]],
) -> Callable[[Iterable[bytes]], Iterator[Batch]]:
    """Return a reader of batches, given one of records. What was read before an error is handed out."""

    def batches(blocks: Iterable[bytes]) -> Iterator[Batch]:
        yield from in_batches(read(blocks), Writers())

    return batches


def in_batches(records: Iterator[Record], writers: Writers) -> Iterator[Batch]:
    """Yield the records, many at once. What came before an error is handed out."""
    kept: list[Record] = []
    size = 0
    failed: Exception | None = None
    while True:
        try:
            record = next(records, None)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised after what came before it
            record, failed = None, error
        if record is not None:
            kept.append(record)
            size += len(record.text)
        if kept and (record is None or len(kept) >= RECORDS_A_BATCH or size >= LARGEST_BATCH):
            yield of_records(kept, writers)
            kept, size = [], 0
        if failed is not None:
            raise failed
        if record is None:
            return
