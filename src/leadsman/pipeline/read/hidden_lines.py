"""Masks what goes on over several lines, private keys above all, in the blocks of a file, before anything is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.redaction import candidate_offsets, mask, mask_over_lines, open_secret

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_ABOVE_BYTES = 1 << 18
"""Bytes of the lines above a block that are kept where a secret can go on in it: 400 lines have fewer."""


class HiddenLines:
    """The masking of one file, block by block. Secrets on one line stay: they are masked where lines become events."""

    def __init__(self) -> None:
        self._above: list[str] = []  # lines above the block, masked, from the first whose secret can go on

    def mask(self, data: bytes, marks: Sequence[tuple[int, int]] | None = None) -> bytes:
        """Return a block of whole lines with the secrets masked that have their key on another line.

        `marks`: see `candidate_offsets`. Where nothing is masked, the block itself is returned.
        """
        offsets = candidate_offsets(data, marks)
        if not offsets and not self._above:
            return data
        above, self._above = self._above, []
        lines = data.decode("utf-8", "surrogateescape").split("\n")
        whole = [*above, *lines]
        candidates = [*range(len(above)), *_line_numbers(data, offsets, len(above))]
        masked = mask_over_lines(whole, candidates)
        self._keep(masked, candidates)
        hidden = masked[len(above) :]
        return data if hidden == lines else "\n".join(hidden).encode("utf-8", "surrogateescape")

    def mask_texts(self) -> None:
        """Mask the secrets in the lines that are kept, before they leave the process in a state."""
        if self._above:
            self._above = mask("\n".join(self._above)).split("\n")

    def _keep(self, lines: list[str], candidates: list[int]) -> None:
        """Keep the lines from which on a secret can go on in the next block."""
        ended = lines[:-1] if lines[-1] == "" else lines
        first = open_secret(ended, [index for index in candidates if index < len(ended)])
        if first is not None and sum(map(len, ended[first:])) <= MAX_ABOVE_BYTES:
            self._above = ended[first:]


def _line_numbers(data: bytes, offsets: list[int], above: int) -> list[int]:
    """Return the lines of these places, each once; `above` lines come before them."""
    numbers: list[int] = []
    line = since = 0
    for offset in offsets:
        line += data.count(b"\n", since, offset)
        since = max(since, offset)
        if not numbers or numbers[-1] != line:
            numbers.append(line)
    return [number + above for number in numbers]
