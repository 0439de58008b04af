"""How far a document has been read that is read in columns: its text from there on, and the line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from leadsman.telemetry.json_records import documents
from leadsman.telemetry.json_records.document_parser import is_cut

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_UNREAD = 8 << 20
"""Bytes without a complete record, or stream of records, after which `documents` reads on: arrays take more memory."""

RECORD_STARTS = (b"{", b"[")
NEWLINE = 10


@dataclass(slots=True)
class Position:
    """How far a document has been read: `data` is the text from here on, `line` the line on which it begins."""

    data: bytes
    line: int

    @property
    def next_record(self) -> int:
        """The offset at which the next record begins."""
        return len(self.data) - len(self.data.lstrip(b" \t\r\n\v\f,"))

    @property
    def is_incomplete(self) -> bool:
        """Whether the end of the next record is not read yet. Only then does `DocumentParser` read on as well."""
        unread = self.data[self.next_record :]
        if not unread:
            return True
        if unread[:1] not in RECORD_STARTS or len(unread) > MAX_UNREAD:
            return False
        text = unread.decode()
        try:
            documents.DECODER.raw_decode(text)
        except json.JSONDecodeError as error:
            return is_cut(error, text)
        except (RecursionError, ValueError):
            return False
        return False

    def read_more(self, pieces: Iterator[str]) -> bool:
        """Read on, as much as `DocumentParser` does: at least as much again as there is of the next record."""
        missing = max(1, len(self.data[self.next_record :].decode()))
        parts = [self.data]
        while missing > 0 and (piece := next(pieces, None)) is not None:
            parts.append(piece.encode())
            missing -= len(piece)
        self.data = b"".join(parts)
        return len(parts) > 1

    def advance(self, end: int) -> None:
        """Drop the text up to this offset: it has been read."""
        self.line += int(np.count_nonzero(np.frombuffer(self.data, np.uint8)[:end] == NEWLINE))
        self.data = self.data[end:]
