r"""Makes a line of a log safe to show, without any other change.

Characters that a terminal or a browser would act on (escape sequences, carriage returns, marks of writing direction,
bytes that are no text) are spelled out as `\x1b` or `\u202e`. All other characters stay as they are.
"""

from __future__ import annotations

import unicodedata

CONTROL_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's categories of control and formatting characters, surrogates and separators."""

ESCAPED_BYTES = range(0xDC80, 0xDD00)
"""Where Python's `surrogateescape` keeps the bytes 0x80 to 0xff of a name that is not UTF-8."""

TWO_DIGITS, FOUR_DIGITS = 0x100, 0x10000


def escape_control_characters(text: str, *, keep: str = "") -> str:
    """Spell out control characters, except those in `keep`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c in keep or unicodedata.category(c) not in CONTROL_CATEGORIES else _escape(ord(c)) for c in text
    )


def escape_unencodable(text: str, encoding: str) -> str:
    """Spell out characters that an encoding does not have."""
    return text.encode(encoding, "backslashreplace").decode(encoding)


def escape_surrogates(text: str) -> str:
    """Spell out halves of surrogate pairs, which UTF-8 cannot hold. Control characters stay."""
    return "".join(_escape(ord(c)) if unicodedata.category(c) == "Cs" else c for c in text)


def _escape(code: int) -> str:
    if code in ESCAPED_BYTES:
        return f"\\x{code - 0xDC00:02x}"
    if code < TWO_DIGITS:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < FOUR_DIGITS else f"\\U{code:08x}"
