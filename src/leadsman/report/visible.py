r"""Makes a line of somebody's log safe to show and still the same line.

What a terminal or a browser would act on instead of showing (escape sequences, carriage returns, marks that turn the
writing direction, bytes that were no text) is spelled out as `\x1b` or `\u202e`. Everything else stays to the letter.
"""

from __future__ import annotations

import unicodedata

ACTED_ON = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's categories of characters that do something instead of being something."""

ESCAPED_BYTES = range(0xDC80, 0xDD00)
"""Where Python's `surrogateescape` keeps the bytes 0x80 to 0xff of a name that is not UTF-8."""

TWO_DIGITS, FOUR_DIGITS = 0x100, 0x10000


def visible(text: str, *, keep: str = "") -> str:
    """Spell out what would act, except the characters in `keep`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in keep or unicodedata.category(c) not in ACTED_ON else _spelled(ord(c)) for c in text)


def encodable(text: str, encoding: str) -> str:
    """Spell out what an encoding has no character for."""
    return text.encode(encoding, "backslashreplace").decode(encoding)


def whole(text: str) -> str:
    """Spell out what no file in UTF-8 can hold: halves of surrogate pairs. Control characters stay."""
    return "".join(_spelled(ord(c)) if unicodedata.category(c) == "Cs" else c for c in text)


def _spelled(code: int) -> str:
    if code in ESCAPED_BYTES:
        return f"\\x{code - 0xDC00:02x}"
    if code < TWO_DIGITS:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < FOUR_DIGITS else f"\\U{code:08x}"
