"""Parses outputs of millions of lines: one pattern over whole blocks, and on which line each match stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

NEWLINE = 10


class BlockMatches(NamedTuple):
    """Matches of a pattern in one block: its groups column by column, the text of each match, and its line, from 1."""

    groups: list[tuple[str | None, ...]]
    texts: list[str]
    lines: NDArray[np.int64]


def decode_ascii(block: bytes) -> str:
    """Decode a block as one character per byte: Kafka's names are ASCII, and offsets stay the same."""
    return block.decode("ascii", "replace")


def line_starts(block: bytes) -> NDArray[np.int64]:
    """Return where each line of the block begins, except the first."""
    return np.flatnonzero(np.frombuffer(block, np.uint8) == NEWLINE) + 1


def find_matches(pattern: re.Pattern[str], blocks: Iterable[bytes]) -> Iterator[BlockMatches]:
    """Yield the matches block by block. The pattern must begin at a line's start and never span a newline."""
    lines_above = 0
    for block in blocks:
        starts = line_starts(block)
        in_block = list(pattern.finditer(decode_ascii(block)))
        if in_block:
            offsets = np.fromiter((match.start() for match in in_block), np.int64, len(in_block))
            lines = np.searchsorted(starts, offsets, side="right") + lines_above + 1
            groups = list(zip(*(match.groups() for match in in_block), strict=True))
            yield BlockMatches(groups, [match[0] for match in in_block], lines)
        lines_above += len(starts)
