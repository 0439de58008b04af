"""Which records begin one, and which continue their writer's last: what `streams.with_heads` says, for many at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leadsman.telemetry.formats import streams
from leadsman.telemetry.formats.streams import MOST_SUBJECTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leadsman.telemetry.batch import Writers

    Numbers = NDArray[np.int64]


class Heads:
    """The writers of a file of whom a record went before. Which one is known to those that read batches."""

    def __init__(self, writers: Writers) -> None:
        self._writers = writers
        self._headed: set[int] = set()

    def known(self) -> dict[str | None, str]:
        """Return them by name."""
        return {self._writers.names[number]: "" for number in self._headed}

    def begins(self, writer: Numbers, text: bytes, begin: Numbers, *, end: Numbers) -> NDArray[np.bool_]:
        """Return which of these records begin one. Their texts stand in `text`."""
        begins = np.ones(len(writer), np.bool_)
        continues = [
            record
            for record in _may_continue(text, begin)
            if streams.CONTINUES.match(text[begin[record] : end[record]].decode())
        ]
        if len(self._headed) + len(self._writers.names) >= MOST_SUBJECTS:
            self._begin_singly(begins, writer.tolist(), set(continues))
            return begins
        if continues:
            writers, first = np.unique(writer, return_index=True)
            firsts = {
                place
                for number, place in zip(writers.tolist(), first.tolist(), strict=True)
                if number not in self._headed
            }
            begins[[record for record in continues if record not in firsts]] = False
        self._headed.update(np.unique(writer).tolist())
        return begins

    def _begin_singly(self, begins: NDArray[np.bool_], writers: list[int], continues: set[int]) -> None:
        for record, writer in enumerate(writers):
            if record in continues and writer in self._headed:
                begins[record] = False
                continue
            if len(self._headed) >= MOST_SUBJECTS:
                self._headed.clear()
            self._headed.add(writer)


def _may_continue(text: bytes, begin: Numbers) -> list[int]:
    """Return the records whose texts begin with the first bytes of what `CONTINUES` matches."""
    held = np.frombuffer(text + b"\n\n", np.uint8)
    first, second = held[begin], held[begin + 1]
    may = first == ord("\t")
    for beginning in (b"  ", b"Ca", b"Su", b".."):
        may |= (first == beginning[0]) & (second == beginning[1])
    found: list[int] = np.flatnonzero(may).tolist()
    return found
