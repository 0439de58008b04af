"""Blocks of outputs of millions of lines, over which one pattern runs: their text, and where their lines begin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

NEWLINE = 10


def decode_ascii(block: bytes) -> str:
    """Decode a block as one character per byte: Kafka's names are ASCII, and offsets stay the same."""
    return block.decode("ascii", "replace")


def line_starts(block: bytes) -> NDArray[np.int64]:
    """Return where each line of the block begins, except the first."""
    return np.flatnonzero(np.frombuffer(block, np.uint8) == NEWLINE) + 1
