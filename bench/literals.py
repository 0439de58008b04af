# ruff: noqa: ANN401 - the standard library's parser of patterns is private and publishes no types
"""What a line must contain for a pattern to match: lets engines without such analysis skip most lines.

Ripgrep, Rust's regex and Hyperscan work this out themselves. Polars and DuckDB are handed it, because a hundred
patterns with counted repetitions in one alternation bring their engines down to less than one megabyte a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence  # noqa: TC003 - names of types at the end
from itertools import product
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

MAX_TEXTS = 64
"""An alternation of more texts than this is taken apart: the longest piece of it has to do."""


def required(patterns: Iterable[str]) -> list[str]:
    """Return texts of which every line contains at least one that any of the patterns matches."""
    found = {text for pattern in patterns for text in _best(_pieces(_parser.parse(pattern)))}
    return sorted(text for text in found if not any(other != text and other in text for other in found))


Texts = frozenset[str]
"""One of these stands at a place of the pattern."""


def _best(pieces: Sequence[Texts]) -> Texts:
    """Return the piece whose shortest text is longest: it is met in the fewest lines."""
    return max(pieces, key=lambda piece: (min(map(len, piece)), -len(piece)), default=frozenset({""}))


def _pieces(tree: Any) -> list[Texts]:
    """Return runs of neighbouring texts, broken wherever anything may stand."""
    pieces: list[Texts] = []
    run: Texts = frozenset({""})
    for node in tree:
        texts = _texts(node)
        joined = None if texts is None else frozenset(map("".join, product(run, texts)))
        if joined is not None and len(joined) <= MAX_TEXTS:
            run = joined
            continue
        pieces += [run, *_inner(node)]
        run = texts or frozenset({""})
    return [piece for piece in [*pieces, run] if "" not in piece]


def _texts(node: Any) -> Texts | None:
    """Return all that a node can match, where these are few."""
    kind, value = node
    return TEXTS[kind](value) if kind in TEXTS else None


def _branches(value: Any) -> Texts | None:
    branches = [_whole(branch) for branch in value[1]]
    return None if None in branches else frozenset().union(*(branch for branch in branches if branch))


def _optional(value: Any) -> Texts | None:
    inner = _whole(value[2]) if value[:2] == (0, 1) else None
    return None if inner is None else inner | {""}


def _characters(members: Sequence[Any]) -> Texts | None:
    found: set[str] = set()
    for kind, value in members:
        if kind is ops.LITERAL:
            found.add(chr(value))
        elif kind is ops.RANGE and value[1] - value[0] < MAX_TEXTS:
            found |= set(map(chr, range(value[0], value[1] + 1)))
        else:
            return None
    return frozenset(found) if len(found) <= MAX_TEXTS else None


def _whole(tree: Any) -> Texts | None:
    run: Texts = frozenset({""})
    for node in tree:
        texts = _texts(node)
        if texts is None or len(run) * len(texts) > MAX_TEXTS:
            return None
        run = frozenset(map("".join, product(run, texts)))
    return run


def _inner(node: Any) -> list[Texts]:
    """Return what must stand within a node that is no plain text."""
    kind, value = node
    if kind is ops.SUBPATTERN:
        return _pieces(value[3])
    if kind is ops.BRANCH:
        branches = [_best(_pieces(branch)) for branch in value[1]]
        return [frozenset().union(*branches)]
    if kind is ops.MAX_REPEAT and value[0] > 0:
        return _pieces(value[2])
    return []


TEXTS: dict[Any, Callable[[Any], Texts | None]] = {
    ops.LITERAL: lambda value: frozenset({chr(value)}),
    ops.AT: lambda _: frozenset({""}),
    ops.IN: _characters,
    ops.SUBPATTERN: lambda value: _whole(value[3]),
    ops.BRANCH: _branches,
    ops.MAX_REPEAT: _optional,
}
