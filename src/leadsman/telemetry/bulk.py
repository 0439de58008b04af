"""Reads outputs of millions of lines: one pattern over whole blocks, and which line each match stands on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

NEWLINE = 10


class Matches(NamedTuple):
    """What a pattern found in one block: its groups column by column, each match's text, and its line, from 1."""

    groups: list[tuple[str | None, ...]]
    texts: list[str]
    lines: NDArray[np.int64]


def as_text(block: bytes) -> str:
    """Return the block as ASCII, one character a byte: Kafka's names are ASCII, and places in it stay what they are."""
    return block.decode("ascii", "replace")


def line_starts(block: bytes) -> NDArray[np.int64]:
    """Return where each line of the block begins, but for the first."""
    return np.flatnonzero(np.frombuffer(block, np.uint8) == NEWLINE) + 1


def matches(pattern: re.Pattern[str], blocks: Iterable[bytes]) -> Iterator[Matches]:
    """Yield what a pattern finds, block by block. It must begin at a line's start and never span a newline."""
    above = 0
    for block in blocks:
        starts = line_starts(block)
        found = list(pattern.finditer(as_text(block)))
        if found:
            places = np.fromiter((match.start() for match in found), np.int64, len(found))
            lines = np.searchsorted(starts, places, side="right") + above + 1
            groups = list(zip(*(match.groups() for match in found), strict=True))
            yield Matches(groups, [match[0] for match in found], lines)
        above += len(starts)
