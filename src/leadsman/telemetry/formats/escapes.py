"""Decodes the escapes of many JSON strings at once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Numbers = NDArray[np.int64]

BACKSLASH = 92
GONE = 255
"""No byte of UTF-8: marks what an escape does not need, until it is taken out."""

MEANT = np.zeros(256, np.uint8)
"""What stands for the letter behind a backslash; 0 where JSON has no such escape."""
MEANT[list(b'"\\/bfnrt')] = list(b'"\\/\b\f\n\r\t')
MEANT[ord("u")] = ord("u")

WIDE = re.compile(rb"[0-9a-fA-F]{4}")
SURROGATES = range(0xD800, 0xE000)


class NotDecoded(ValueError):
    """There is an escape that JSON does not have, or half of a pair."""


def escapes(data: Bytes) -> Numbers:
    """Return where escapes begin: of a run of backslashes the first, the third, ..."""
    slashes = np.flatnonzero(data == BACKSLASH)
    if len(slashes) < 2 or not (follows := np.diff(slashes) == 1).any():  # noqa: PLR2004 - two make a run
        return slashes
    begins = np.concatenate(([True], ~follows))
    place = np.arange(len(slashes))
    first: Numbers = slashes[(place - np.maximum.accumulate(np.where(begins, place, 0))) % 2 == 0]
    return first


def unescaped(text: bytes, places: Numbers) -> tuple[bytes, Numbers]:
    """Return the text of strings (UTF-8) decoded, and where it has come to what stood at `places`.

    Raises NotDecoded where the standard library must say what is meant.
    """
    data = np.frombuffer(text, np.uint8)
    at = escapes(data)
    if not len(at):
        return text, places
    if at[-1] + 1 >= len(data):
        raise NotDecoded("the text ends in an escape")
    what = data[at + 1]
    meant = MEANT[what]
    if not meant.all():
        raise NotDecoded("an escape that JSON does not have")
    data = data.copy()
    data[at + 1], data[at] = meant, GONE
    gone = at
    if len(wide := at[what == ord("u")]):
        for place in wide.tolist():
            _decode_wide(data, text, place)
        gone = np.flatnonzero(data == GONE)
    return data.tobytes().replace(b"\xff", b""), places - np.searchsorted(gone, places)


def _decode_wide(data: Bytes, text: bytes, place: int) -> None:
    """Decode the escape of a character by its number, in its place. What stands for it is no longer."""
    digits = text[place + 2 : place + 6]
    code = int(digits, 16) if WIDE.fullmatch(digits) else SURROGATES.start
    if code in SURROGATES:
        raise NotDecoded("no character, or half of one")
    letters = chr(code).encode()
    data[place : place + 6] = [*letters, *[GONE] * (6 - len(letters))]
