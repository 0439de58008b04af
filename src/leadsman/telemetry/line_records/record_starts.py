"""Decides which of many rows start a record and which continue one, as `text_lines.with_record_starts` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leadsman.telemetry.line_records import text_lines
from leadsman.telemetry.line_records.text_lines import MAX_WRITERS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leadsman.telemetry.record_batch import Writers

    Numbers = NDArray[np.int64]


class RecordStarts:
    """The writers of a file that have a record already. The record itself is known to the reader of the batches."""

    def __init__(self, writers: Writers) -> None:
        self._writers = writers
        self._with_record: set[int] = set()

    def writers_with_record(self) -> dict[str | None, str]:
        """Return the names of writers that have a record, each with an unknown first line."""
        return {self._writers.names[number]: "" for number in self._with_record}

    def mark_starts(self, writer: Numbers, text: bytes, begin: Numbers, *, end: Numbers) -> NDArray[np.bool_]:
        """Return which of these rows start a record. Their texts stand in `text`."""
        starts = np.ones(len(writer), np.bool_)
        continues = [
            row
            for row in _may_continue(text, begin)
            if text_lines.CONTINUES.match(text[begin[row] : end[row]].decode())
        ]
        if len(self._with_record) + len(self._writers.names) >= MAX_WRITERS:
            self._mark_starts_singly(starts, writer.tolist(), set(continues))
            return starts
        if continues:
            writers, first = np.unique(writer, return_index=True)
            firsts = {
                row
                for number, row in zip(writers.tolist(), first.tolist(), strict=True)
                if number not in self._with_record
            }
            starts[[row for row in continues if row not in firsts]] = False
        self._with_record.update(np.unique(writer).tolist())
        return starts

    def _mark_starts_singly(self, starts: NDArray[np.bool_], writers: list[int], continues: set[int]) -> None:
        for row, writer in enumerate(writers):
            if row in continues and writer in self._with_record:
                starts[row] = False
                continue
            if len(self._with_record) >= MAX_WRITERS:
                self._with_record.clear()
            self._with_record.add(writer)


def _may_continue(text: bytes, begin: Numbers) -> list[int]:
    """Return the rows whose texts begin with the first two bytes of a match of `CONTINUES`."""
    data = np.frombuffer(text + b"\n\n", np.uint8)
    first, second = data[begin], data[begin + 1]
    may_continue = first == ord("\t")
    for beginning in (b"  ", b"Ca", b"Su", b".."):
        may_continue |= (first == beginning[0]) & (second == beginning[1])
    rows: list[int] = np.flatnonzero(may_continue).tolist()
    return rows
