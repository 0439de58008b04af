"""Blanks secrets out of text, before it is written or shown.

Only what stands after a key that names a secret is blanked, so that a masked line is otherwise literally the input's.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

MASK = "[hidden]"
"""What Kafka itself prints for a secret setting."""

_KEYS = (
    "password|passwd|passphrase|secret|credentials?|token|signature"
    r"|api[._\-]?key|(?:access|secret|private|account|shared|keystore|shared[._\-]?access)[._\-]?key(?:[._\-]?id)?"
    r"|basic\.auth\.user\.info|connection[._\-]?string"
)
"""How a secret's key ends, with dots (Java), underscores (Python) or dashes. Anything may stand before it."""

_SEPARATOR = r"\\?[\"']?[ \t]*+(?:=>|=|:)[ \t]*+"
"""Possessive: giving a space back would let the check for "no secret" look at the space."""

_NONE = r"(?:null\b|none\b|true\b|false\b|\[hidden\]|\*{3,})"
"""What Kafka and others print where there is no secret, or where they have masked it."""

_KEY_HINTS = ("passw", "passp", "secret", "key", "cred", "token", "user.info", "string", "signa")

_RULES = (
    # sasl.jaas.config = org...LoginModule required username="u" password="p";   it has many forms: to the line's end
    (("jaas",), re.compile(rf"(?i)(sasl[._]jaas[._]config{_SEPARATOR})(?!\\?[\"']?{_NONE})[^\n]+"), rf"\1{MASK}"),
    # key="value", 'key': 'value', key=\"value\"
    (
        _KEY_HINTS,
        re.compile(rf"(?i)((?:{_KEYS}){_SEPARATOR})(\\?[\"'])(?!{_NONE})(?:(?!\2)[^\n])+(\2)"),
        rf"\1\2{MASK}\3",
    ),
    # key = value, key: value
    (
        _KEY_HINTS,
        re.compile(rf"(?i)((?:{_KEYS}){_SEPARATOR})(?!{_NONE})[^\s,;&}}\])(\[{{\"'\\]+"),
        rf"\1{MASK}",
    ),
    # Authorization: Bearer ..., Authorization: Basic ...
    (("bearer", "basic"), re.compile(r"(?i)\b((?:bearer|basic)[ \t]+)[A-Za-z0-9+/=._~\-]{8,}"), rf"\1{MASK}"),
    # JSON Web Tokens and cloud access keys wherever they stand
    (("eyj",), re.compile(r"\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{4,}(?:\.[A-Za-z0-9_\-]*)?"), MASK),
    (("akia", "asia"), re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), MASK),
    # scheme://user:password@host
    (("://",), re.compile(rf"(://[^\s:/@]*:)(?!{_NONE})[^\s/@]+(@)"), rf"\1{MASK}\2"),
)
"""What a rule needs in lower case, the rule, and what stands there then. Most lines hold none of these texts, and
looking for them is many times faster than a pattern."""

WORTH_HYPERSCAN = 100_000
"""Characters from which on compiling the hints, 5 ms once, and one pass cost less than looking for each of them."""

_PRIVATE_KEY_HINT = "PRIVATE KEY-----"

_HINTS = sorted({hint for hints, _, _ in _RULES for hint in hints} | {_PRIVATE_KEY_HINT.lower()})

_PRIVATE_KEY = re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)


def mask(text: str) -> str:
    """Return `text` with every secret that can be told by its shape blanked out. Masking twice changes nothing."""
    if _PRIVATE_KEY_HINT in text:
        text = _PRIVATE_KEY.sub(_without_key, text)
    if "\n" not in text:
        return _line(text)
    return "\n".join(map(_line, text.split("\n")))


def mask_all(texts: Sequence[str]) -> list[str]:
    """Return the texts, each masked. What tells of secrets is looked for in all at once, since few of them hold it."""
    masked = list(texts)
    for index in suspects(texts):
        masked[index] = mask(texts[index])
    return masked


def suspects(texts: Sequence[str]) -> Collection[int]:
    """Return the index of each text that could hold a secret."""
    joined = "\n".join(texts)
    starts = list(accumulate((len(text) + 1 for text in texts), initial=0))
    if len(joined) >= WORTH_HYPERSCAN and joined.isascii() and (places := _hyperscan()) is not None:
        return {bisect_right(starts, place) - 1 for place in places(joined.encode())}
    lower = joined.lower()
    if len(lower) != len(joined):  # a few letters are longer in lower case, and then places no longer agree
        return range(len(texts))
    return set(_suspects(lower, starts))


def _suspects(lower: str, starts: Sequence[int]) -> Iterator[int]:
    """Yield the index of each text that holds a hint, once a hint. Text `i` stands at `starts[i]` of `lower`."""
    for hint in _HINTS:
        found = lower.find(hint)
        while found >= 0:
            after = bisect_right(starts, found)
            yield after - 1
            found = lower.find(hint, starts[after])


@cache
def _hyperscan() -> Callable[[bytes], list[int]] | None:
    """Return what finds where any hint stands in ASCII text; None where there is no Hyperscan."""
    try:
        import hyperscan  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415 - not on every machine
    except ImportError:
        return None
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    hints = [re.escape(hint).encode() for hint in _HINTS]
    database.compile(expressions=hints, ids=list(range(len(hints))), flags=[hyperscan.HS_FLAG_CASELESS] * len(hints))

    def places(text: bytes) -> list[int]:
        found: list[int] = []

        def on_match(_index: int, _start: int, end: int, _flags: int, _context: object) -> None:
            found.append(end - 1)

        database.scan(text, match_event_handler=on_match)
        return found

    return places


def _without_key(match: re.Match[str]) -> str:
    """Blank a key's lines but keep their number: evidence names lines by it."""
    return match[1] + MASK + "\n" * match[0].count("\n") + match[2]


def _line(line: str) -> str:
    lower = line.lower()
    for hints, pattern, replacement in _RULES:
        for hint in hints:
            if hint in lower:
                line = pattern.sub(replacement, line)
                break
    return line
