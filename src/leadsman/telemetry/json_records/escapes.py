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
REMOVED = 255
"""No byte of UTF-8: marks bytes of an escape that are removed at the end."""

UNESCAPED = np.zeros(256, np.uint8)
"""The character for each letter behind a backslash; 0 where JSON has no such escape."""
UNESCAPED[list(b'"\\/bfnrt')] = list(b'"\\/\b\f\n\r\t')
UNESCAPED[ord("u")] = ord("u")

HEX_DIGITS = re.compile(rb"[0-9a-fA-F]{4}")
SURROGATES = range(0xD800, 0xE000)


class UndecodableEscape(ValueError):
    """The text has an escape that JSON does not have, or half of a surrogate pair."""


def escape_positions(data: Bytes) -> Numbers:
    """Return where escapes begin: of a run of backslashes the first, the third, ..."""
    slashes = np.flatnonzero(data == BACKSLASH)
    if len(slashes) < 2 or not (follows := np.diff(slashes) == 1).any():  # noqa: PLR2004 - two make a run
        return slashes
    begins = np.concatenate(([True], ~follows))
    index = np.arange(len(slashes))
    first: Numbers = slashes[(index - np.maximum.accumulate(np.where(begins, index, 0))) % 2 == 0]
    return first


def unescape(text: bytes, offsets: Numbers) -> tuple[bytes, Numbers]:
    """Return the text of strings (UTF-8) decoded, and the offsets in it of what stood at `offsets`.

    Raises UndecodableEscape where the standard library must decode it.
    """
    data = np.frombuffer(text, np.uint8)
    at = escape_positions(data)
    if not len(at):
        return text, offsets
    if at[-1] + 1 >= len(data):
        raise UndecodableEscape("the text ends in an escape")
    letters = data[at + 1]
    characters = UNESCAPED[letters]
    if not characters.all():
        raise UndecodableEscape("an escape that JSON does not have")
    data = data.copy()
    data[at + 1], data[at] = characters, REMOVED
    removed = at
    if len(unicode_escapes := at[letters == ord("u")]):
        for offset in unicode_escapes.tolist():
            _decode_unicode_escape(data, text, offset)
        removed = np.flatnonzero(data == REMOVED)
    return data.tobytes().replace(b"\xff", b""), offsets - np.searchsorted(removed, offsets)


def _decode_unicode_escape(data: Bytes, text: bytes, offset: int) -> None:
    """Decode an escape of the form u00e4 in place. The character in UTF-8 is never longer than the escape."""
    digits = text[offset + 2 : offset + 6]
    code = int(digits, 16) if HEX_DIGITS.fullmatch(digits) else SURROGATES.start
    if code in SURROGATES:
        raise UndecodableEscape("no character, or half of one")
    character = chr(code).encode()
    data[offset : offset + 6] = [*character, *[REMOVED] * (6 - len(character))]
