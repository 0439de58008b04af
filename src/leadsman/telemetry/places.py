"""Where a value of a JSON document stands, so that it can be quoted: a parser forgets lines."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LARGEST = 256 << 20
LONGEST_QUOTE = 1000


@dataclass(slots=True)
class Places:
    """A document, and how far it has been searched: values are sought in the order in which they stand."""

    text: str
    _at: int = 0
    _line: int = 1
    _start: int = 0  # of the line of the last place
    _end: int = -1  # known once it was asked for: a document of one line is not searched for its ends at each value

    def of(self, sought: str) -> tuple[int, str]:
        """Return line and text of the next place where a value stands; those of the last one where it is not found."""
        found = self.text.find(json.dumps(sought), self._at)
        self._at = max(self._at, found)
        if self._at > self._end:
            self._go_to_line()
        return self._line, self.text[self._start : min(self._end, self._start + LONGEST_QUOTE)]

    def _go_to_line(self) -> None:
        self._line += self.text.count("\n", self._start, self._at)
        self._start = self.text.rfind("\n", 0, self._at) + 1
        end = self.text.find("\n", self._at)
        self._end = end if end >= 0 else len(self.text)


def whole(blocks: Iterable[bytes]) -> str:
    """Return a document's text. OSError where it is too large to be held."""
    parts, size = [], 0
    for block in blocks:
        parts.append(block)
        size += len(block)
        if size > LARGEST:
            raise OSError(f"a document of more than {LARGEST >> 20} MiB; export it region by region")
    return b"".join(parts).decode("utf-8-sig", "replace")
