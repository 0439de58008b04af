"""Batches of records as columns, as readers yield them that split whole blocks at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from leadsman.telemetry.record import Record

NO_TIME = int(np.iinfo(np.int64).min)

RECORDS_A_BATCH = 4000
"""Enough that the fixed cost per batch and writer is small, few enough to take a few megabytes."""

MAX_BATCH_CHARACTERS = 4 << 20
"""Characters of texts in one batch."""

NEWLINE = 10


class Writers:
    """The writers of a file, numbered as they are met. None is the writer of records that name none."""

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
class LogRecordBatch:
    """Records in the order in which they are read, as columns; each row is what `Record` describes.

    `at` is NO_TIME where a record has no time. `starts_record` is False for rows that continue an earlier record of
    their writer. The texts stand in `text`, separated by one newline: that of row `i` from `begin[i]` to `end[i]`.
    `quote` returns the quote of a row where it is not the text; it is computed on demand, because few quotes are
    needed. `record_starts` holds, by row, the first lines of continued records as far as the reader knows them.
    """

    writers: Writers
    writer: NDArray[np.int64]
    at: NDArray[np.int64]
    starts_record: NDArray[np.bool_]
    line: NDArray[np.int64]
    text: bytes
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    quote: Callable[[int], str] | None = None
    record_starts: Mapping[int, str] = field(default_factory=dict)

    def text_of(self, record: int) -> str:
        """Return the text of a record."""
        return self.text[self.begin[record] : self.end[record]].decode("utf-8", "replace")

    def quote_of(self, record: int) -> str:
        """Return the quote of a record."""
        return self.text_of(record) if self.quote is None else self.quote(record)

    def text_and_quote(self, record: int) -> tuple[str, str]:
        """Return text and quote of a record."""
        text = self.text_of(record)
        return text, text if self.quote is None else self.quote(record)

    def first_line(self, record: int) -> str:
        """Return the first line of a record's text."""
        return self.text_of(record).split("\n", 1)[0]


def sliding_window(data: NDArray[np.uint8], width: int) -> NDArray[np.uint8]:
    """Return a view: for each offset the `width` bytes from there. NumPy's own function takes 0.1 ms per call."""
    return np.ndarray((max(0, len(data) - width + 1), width), np.uint8, data.data, strides=(1, 1))


def text_spans(texts: Sequence[bytes]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each text begins and ends once the texts are joined with one byte between them."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    ends = np.cumsum(lengths + 1) - 1
    return ends - lengths, ends


def strip_newlines(text: bytes, begin: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the texts end without their trailing newlines."""
    data = np.frombuffer(text, np.uint8)
    end = end.copy()
    left = np.flatnonzero(end > begin)
    while len(left := left[data[end[left] - 1] == NEWLINE]):
        end[left] -= 1
        left = left[end[left] > begin[left]]
    return end


def to_batch(records: Sequence[Record], writers: Writers) -> LogRecordBatch:
    """Return the records as a batch."""
    texts = [record.text.encode() for record in records]
    begin, end = text_spans(texts)
    count = len(records)
    return LogRecordBatch(
        writers=writers,
        writer=np.fromiter((writers.number(record.subject) for record in records), np.int64, count),
        at=np.fromiter((NO_TIME if record.at is None else record.at for record in records), np.int64, count),
        starts_record=np.fromiter((record.record_start is None for record in records), np.bool_, count),
        line=np.fromiter((record.line for record in records), np.int64, count),
        text=b"\n".join(texts),
        begin=begin,
        end=end,
        quote=[record.quote for record in records].__getitem__,
        record_starts={row: record.record_start for row, record in enumerate(records) if record.record_start},
    )


def batch_reader(
    read: Callable[[Iterable[bytes]], Iterator[Record]],
) -> Callable[[Iterable[bytes]], Iterator[LogRecordBatch]]:
    """Return a reader of batches, given one of records. Records before an error are yielded before it is raised."""

    def batches(blocks: Iterable[bytes]) -> Iterator[LogRecordBatch]:
        yield from iter_batches(read(blocks), Writers())

    return batches


def iter_batches(records: Iterator[Record], writers: Writers) -> Iterator[LogRecordBatch]:
    """Yield the records in batches. Records before an error are yielded before it is raised."""
    pending: list[Record] = []
    size = 0
    failed: Exception | None = None
    while True:
        try:
            record = next(records, None)
        except Exception as error:  # noqa: BLE001 - any error is raised after the records before it
            record, failed = None, error
        if record is not None:
            pending.append(record)
            size += len(record.text)
        if pending and (record is None or len(pending) >= RECORDS_A_BATCH or size >= MAX_BATCH_CHARACTERS):
            yield to_batch(pending, writers)
            pending, size = [], 0
        if failed is not None:
            raise failed
        if record is None:
            return
