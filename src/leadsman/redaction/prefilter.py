"""Finds the lines that can hold a secret, in many lines at once: few lines have one, and rules cost a hundredfold."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

from leadsman.redaction import commands, disguises, headers, keys, token_forms, urls
from leadsman.redaction.over_lines import private_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

HYPERSCAN_MIN_CHARACTERS = 100_000
"""Characters from which on compiling the expressions, 25 ms once, costs less than looking for each hint."""

_JAAS = "jaas"


class _Searched:
    """How many characters this process has searched."""

    characters = 0


_SEARCHED = _Searched()

HINTS = tuple(
    sorted(
        {
            *(_JAAS, *disguises.HINTS, *keys.HINTS, *headers.HINTS, *commands.HINTS, *urls.HINTS),
            *(*private_keys.HINTS, *token_forms.HINTS),
        }
    )
)
"""Texts in lower case of which each line with a secret holds one."""

_WORDS_OF_KEYS = (
    "access account api auth encryption functions keystore license master private secret server session shared signing"
    " ssh storage stored subscription"
)
_AFTER_KEY = "\\\"'`&%][ \t=-:>_.|()0123456789"
"""What can follow the word of a key: the rest of the key, a quote, a separator."""

_NARROWER = {
    "key": (*(f"{word}{dot}key" for word in _WORDS_OF_KEYS.split() for dot in ("", *"._- ")), "?key=", "&key="),
    "pass": ("passw", "passp", "passc", *(f"pass{after}" for after in _AFTER_KEY)),
    "sig": ("signature", *(f"sig{after}" for after in _AFTER_KEY)),
    "sk": tuple(f"sk{digit}" for digit in "0123456789abcdef"),
    "connection": tuple(f"connection{dot}string" for dot in ("", *"._-")),
    "/bot": tuple(f"/bot{digit}" for digit in "0123456789"),
    **{f"${kind}$": tuple(f"{before}${kind}$" for before in " :=\"',\t") for kind in "56y"},
    "-us": tuple(f"-us{digit}" for digit in "0123456789"),
    "bearer": ("bearer ", "bearer\t"),
}
"""Longer texts in place of hints that stand in many lines without a secret. A text takes 10 microseconds to compile."""

_PATTERNS = {
    ":aa": r"[0-9]{8}:aa",
    "@": r"/[^ \t\n@\"']*@|@(?:tcp|unix)\(",
    "a3-": r"a3-.{6}-",
    "sk-": rf"{keys.BEFORE_WORD}sk-",
    **keys.HINT_PATTERNS,
}
"""Expressions in their place. The first of them takes 10 ms to compile, and one with `[a-z0-9]{6}` would take 30. Of 60
UUIDs one holds `a3-`, and `task-0`, `disk-1` and `desk-eu` hold `sk-`."""


def secret_candidates(texts: Sequence[str]) -> Collection[int]:
    """Return the index of each text that could hold a secret."""
    joined = "\n".join(texts)
    if (find_offsets := _worthwhile_hyperscan(len(joined))) is not None:
        data = joined.encode("utf-8", "surrogatepass")
        if not (found := find_offsets(data)):
            return ()
        lengths = map(len, texts) if len(data) == len(joined) else (len(_utf_8(text)) for text in texts)
        ends = list(accumulate(length + 1 for length in lengths))
        return {bisect_right(ends, offset) for offset in found}
    starts = list(accumulate((len(text) + 1 for text in texts), initial=0))
    lower = joined.lower()
    if len(lower) != len(joined):  # a few letters are longer in lower case, and then places no longer agree
        return range(len(texts))
    return set(_hint_indexes(lower, starts))


def can_hold_secret(text: str) -> bool:
    """Whether one text of one line could hold a secret."""
    if (find_offsets := _worthwhile_hyperscan(len(text))) is not None:
        return bool(find_offsets(_utf_8(text)))
    lower = text.lower()
    return any(hint in lower for hint in HINTS)


def _utf_8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _worthwhile_hyperscan(characters: int) -> Callable[[bytes], list[int]] | None:
    """Return Hyperscan's search once this process has searched enough text; None before, and without Hyperscan."""
    _SEARCHED.characters += characters
    return _hyperscan() if _SEARCHED.characters >= HYPERSCAN_MIN_CHARACTERS else None


def _hint_indexes(lower: str, starts: Sequence[int]) -> Iterator[int]:
    """Yield the index of each text that holds a hint, once a hint. Text `i` stands at `starts[i]` of `lower`."""
    for hint in HINTS:
        offset = lower.find(hint)
        while offset >= 0:
            after = bisect_right(starts, offset)
            yield after - 1
            offset = lower.find(hint, starts[after])


@cache
def _hyperscan() -> Callable[[bytes], list[int]] | None:
    """Return a function that finds where expressions match in ASCII text; None without Hyperscan."""
    try:
        import hyperscan  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    literals = [re.escape(text) for hint in HINTS if hint not in _PATTERNS for text in _NARROWER.get(hint, (hint,))]
    expressions = [each.encode() for each in (*literals, *_PATTERNS.values())]
    flags = [hyperscan.HS_FLAG_CASELESS] * len(expressions)
    database.compile(expressions=expressions, ids=list(range(len(expressions))), flags=flags)

    def find_offsets(text: bytes) -> list[int]:
        ends: list[int] = []

        def on_match(_index: int, _start: int, end: int, _flags: int, _context: object) -> None:
            ends.append(end - 1)

        database.scan(text, match_event_handler=on_match)
        return ends

    return find_offsets
