"""Finds the lines of raw blocks that can begin a secret of several lines: one line in a million does.

Such a line ends in a mark: a colon, a backslash, the bar of a block. Few lines of logs do, and looking for these marks
costs a fifth of looking for the names of secrets, which is done near the marks alone.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

from leadsman.redaction import keys
from leadsman.redaction.over_lines.blocks import SLOT_LINES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Mark = tuple[int, int]
    """The last byte of a literal in the data, and the literal's number."""
    Search = Callable[[bytes], list[Mark]]

NAME_BYTES = 60
"""Bytes before a mark within which the name of a secret stands."""

LINE_BYTES = 2000
"""Bytes of a line that are looked at for the name of a continued assignment."""

NEAR_BYTES = 200
"""Bytes of the lines around a `value:` that are looked at for its name."""

MANY_MARKS = 100
"""From so many marks on, names are looked for in the whole block first: most blocks have none. An answer of CloudWatch
Insights has a `"value":` in each fifth of a line, and each line of `kafka-topics` can end in a colon."""

_MARKS = (":", "=", ">", "|", "|-", ">-", "|+", ">+", '"""', "'''", '\\"\\"\\"', ": |2", ": >2")
_ENDS = ("\n", " \n", "\r\n", "\\n", '",', '"}', " (kafka.", " (org.", " #")
"""Where the text of a record ends: at the line's end, at a JSON string's, before the logger that a broker adds."""

_CONTINUED = tuple("\\" + end for end in _ENDS)
_VALUES = (" value: ", "\tvalue: ", "\nvalue: ", '"value": ', '"value":"', '\\"value\\":', "<value>")
_SURE = (
    *("private key", "private-lines", "kind: secret", '"kind":"secret"', '"kind": "secret"'),
    *('kind\\": \\"secret', 'kind\\":\\"secret'),
)
MARKS = (*_SURE, *_VALUES, *_CONTINUED, *(mark + end for mark in _MARKS for end in _ENDS))
"""Literal texts, whatever the case of their letters."""

_FIRST_VALUE, _FIRST_CONTINUED = len(_SURE), len(_SURE) + len(_VALUES)
_FIRST_MARK = _FIRST_CONTINUED + len(_CONTINUED)


def candidate_offsets(data: bytes, marks: Sequence[Mark] | None = None) -> list[int]:
    """Return where in a block of lines such lines are, in their order.

    `marks` are the marks in the block, where they are known: the last byte of each, and its number in `MARKS`.
    """
    if marks is None:
        marks = _marks()(data)
    if not marks:
        return []
    unsure: Sequence[Mark] = [(offset, number) for offset, number in marks if number >= _FIRST_VALUE]
    if len(unsure) > MANY_MARKS:
        unsure = _may_be_named(data, unsure)
    found = {offset for offset, number in marks if number < _FIRST_VALUE}
    for index in _are_named([_beside(data, offset, number) for offset, number in unsure]):
        offset, number = unsure[index]
        found.update([offset] if number >= _FIRST_CONTINUED else _near(data, offset))
    return sorted(found)


def _may_be_named(data: bytes, marks: Sequence[Mark]) -> Sequence[Mark]:
    """Return the marks that have any name of a secret so near that `_beside` can return it."""
    names = _names()(data)
    if len(names) > len(marks):
        return marks
    ordered = sorted(marks)
    offsets = [offset for offset, _ in ordered]
    kept: set[int] = set()
    for end, _ in names:
        first, last = _reach(data, end)
        kept.update(range(bisect_left(offsets, first), bisect_right(offsets, last)))
    return [ordered[index] for index in sorted(kept)]


def _reach(data: bytes, end: int) -> tuple[int, int]:
    """Return between which places each mark lies beside which a name stands that ends at `end`."""
    first, last = end - NEAR_BYTES - NAME_BYTES, end + NEAR_BYTES + NAME_BYTES
    for _ in range(SLOT_LINES + 1):
        first = data.rfind(b"\n", 0, first) if first > 0 else 0
        last = data.find(b"\n", last) + 1 or len(data)
    return first, max(last, end + LINE_BYTES)


def _beside(data: bytes, offset: int, number: int) -> bytes:
    """Return where the name of a secret stands that belongs to a mark."""
    if number >= _FIRST_MARK:
        return data[max(0, offset - NAME_BYTES) : offset]
    if number >= _FIRST_CONTINUED:
        return data[max(data.rfind(b"\n", 0, offset) + 1, offset - LINE_BYTES) : offset]
    near = _near(data, offset)
    return data[max(near[0] - NEAR_BYTES, 0) : near[-1] + NEAR_BYTES]


def _near(data: bytes, offset: int) -> list[int]:
    """Return a place on each of the lines around one."""
    near = [offset]
    for _ in range(SLOT_LINES):
        above, below = data.rfind(b"\n", 0, near[0]), data.find(b"\n", near[-1])
        near = [*([above] if above >= 0 else []), *near, *([below + 1] if 0 <= below < len(data) - 1 else [])]
    return near


def _are_named(texts: Sequence[bytes]) -> set[int]:
    """Return the index of each text that holds the name of a secret."""
    ends = list(accumulate(len(text) + 1 for text in texts))
    return {bisect_right(ends, offset) for offset, _ in _names()(b"\n".join(texts))}


@cache
def _marks() -> Search:
    return _search(list(map(re.escape, MARKS)))


@cache
def _names() -> Search:
    return _search([keys.HINT_PATTERNS.get(hint) or re.escape(hint.rstrip("=: ")) for hint in keys.HINTS])


def _search(expressions: Sequence[str]) -> Search:
    """Return a function that finds these expressions, whatever the case of their letters: the last byte of each."""
    try:
        import hyperscan  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        longest_first = sorted(range(len(expressions)), key=lambda number: len(expressions[number]), reverse=True)
        groups = "|".join(f"({expressions[number]})" for number in longest_first)
        pattern = re.compile(groups.encode(), re.IGNORECASE)
        return lambda data: [
            (match.end() - 1, longest_first[(match.lastindex or 1) - 1]) for match in pattern.finditer(data)
        ]
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=[expression.encode() for expression in expressions],
        ids=list(range(len(expressions))),
        flags=[hyperscan.HS_FLAG_CASELESS] * len(expressions),
    )

    def search(data: bytes) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []

        def on_match(number: int, _start: int, end: int, _flags: int, _context: object) -> None:
            found.append((end - 1, number))

        database.scan(data, match_event_handler=on_match)
        return found

    return search
