"""On which line of a JSON document a value stands, so that the line can be quoted: a parser forgets lines."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_DOCUMENT_BYTES = 256 << 20
MAX_QUOTE = 1000
"""Characters."""


@dataclass(slots=True)
class ValueLines:
    """A document, and how far it has been searched: values are searched in the order in which they stand."""

    text: str
    _at: int = 0
    _line: int = 1
    _start: int = 0  # of the line of the last value
    _end: int = -1  # of that line; set on the first search, so that a document of one line is searched for it once

    def find(self, value: str) -> tuple[int, str]:
        """Return line and text of the next place where a value stands; those of the last one where it is not found."""
        at = self.text.find(json.dumps(value), self._at)
        self._at = max(self._at, at)
        if self._at > self._end:
            self._go_to_line()
        return self._line, self.text[self._start : min(self._end, self._start + MAX_QUOTE)]

    def _go_to_line(self) -> None:
        self._line += self.text.count("\n", self._start, self._at)
        self._start = self.text.rfind("\n", 0, self._at) + 1
        end = self.text.find("\n", self._at)
        self._end = end if end >= 0 else len(self.text)


def read_document(blocks: Iterable[bytes]) -> str:
    """Return the text of a document. OSError where it is too large for the memory."""
    parts, size = [], 0
    for block in blocks:
        parts.append(block)
        size += len(block)
        if size > MAX_DOCUMENT_BYTES:
            raise OSError(f"a document of more than {MAX_DOCUMENT_BYTES >> 20} MiB; export it region by region")
    return b"".join(parts).decode("utf-8-sig", "replace")
