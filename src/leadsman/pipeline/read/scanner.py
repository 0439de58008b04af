"""Finds every signature in a block of raw bytes in one pass."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
from collections.abc import Callable, Collection, Iterator
from functools import cache
from typing import Any

from leadsman.java.jars import cache_folder
from leadsman.redaction import OVER_LINES_MARKS
from leadsman.telemetry.source import all_signatures, once_signatures

Hits = list[tuple[int, int]]
Scan = Callable[[bytes], Hits]
"""block -> (end of the match, index of the signature), in order of the end; an index can come more than once a line."""


@cache
def scanner() -> tuple[str, Scan]:
    """Return the fastest engine that this machine has, and its name. Made once a process."""
    patterns = [signature.pattern for _, signature, _ in all_signatures()]
    for name, make in ENGINES.items():
        with contextlib.suppress(ImportError):
            return name, make(patterns)
    raise AssertionError("Python's own engine is always there")


@cache
def scan_with_marks() -> Callable[[bytes], tuple[Hits, Hits | None]]:
    """Return what scans a block as `scanner` does, and finds in the same pass the marks of secrets of several lines.

    The second list is for `candidate_offsets`; None without Hyperscan. Made once a process. A pass for the marks alone
    takes 0.34 ns a byte, this one 0.12 more than that of the signatures.
    """
    engine, scan = scanner()
    if engine != "hyperscan":
        return lambda block: (scan(block), None)
    import hyperscan

    signatures = [signature.pattern for _, signature, _ in all_signatures()]
    marks = [re.escape(mark) for mark in OVER_LINES_MARKS]
    flags = [0] * len(signatures) + [hyperscan.HS_FLAG_CASELESS] * len(marks)
    every, first_mark = _hyperscan([*signatures, *marks], flags), len(signatures)

    def scan_both(block: bytes) -> tuple[Hits, Hits]:
        found = every(block)
        marks = [(end - 1, index - first_mark) for end, index in found if index >= first_mark]
        return ([each for each in found if each[1] < first_mark] if marks else found), marks

    return scan_both


class Scanner:
    """Scans many records at once, joined by newlines. Some signatures are events once per stream.

    `spanning` are the signatures that a newline before a record can make match: on them a record is scanned by itself.
    """

    def __init__(self, every: Scan, sparse: Scan) -> None:
        signatures = [signature for _, signature, _ in all_signatures()]
        self.spanning = frozenset(
            index
            for index, signature in enumerate(signatures)
            if any("\\n" not in excluded for excluded in EXCLUDED.findall(signature.pattern))
        )
        self._once = once_signatures()
        self._every = every
        self._sparse = sparse

    def block(self, text: bytes, reported_once: Collection[int]) -> list[tuple[int, int]]:
        """Return what is found, of the signatures in `reported_once` once at most.

        Most lines of a log of invocations are such, and each callback costs as much as scanning 300 bytes.
        """
        if not reported_once:  # the first lines of a stream: there is news among them
            return self._every(text)
        found = self._sparse(text)
        if any(index in self._once and index not in reported_once for _, index in found):
            return self._every(text)
        return found

    def record(self, text: bytes) -> frozenset[int]:
        """Return the signatures that are found on a record by itself."""
        return frozenset(index for _, index in self._every(text))


EXCLUDED = re.compile(r"\[\^((?:\\.|[^\]\\])*)\]")
"""What a class excludes: a newline too, unless it begins a pattern."""


@cache
def once_scanner() -> Scanner:
    """Return the scanner of joined records. Made once a process."""
    engine, scan = scanner()
    if engine != "hyperscan":
        return Scanner(scan, scan)
    import hyperscan

    every = [signature for _, signature, _ in all_signatures()]
    flags = [hyperscan.HS_FLAG_SINGLEMATCH if signature.once else 0 for signature in every]
    return Scanner(scan, _hyperscan([signature.pattern for signature in every], flags))


def _hyperscan(patterns: list[str], flags: list[int] | None = None) -> Scan:
    import hyperscan

    database = _compiled(hyperscan, patterns, flags or [0] * len(patterns))

    def scan(block: bytes) -> list[tuple[int, int]]:
        hits: list[tuple[int, int]] = []
        found = hits.append

        def on_match(index: int, _start: int, end: int, _flags: int, _context: object) -> None:
            found((end, index))

        database.scan(block, match_event_handler=on_match)
        return hits

    return scan


def _compiled(hyperscan: Any, patterns: list[str], flags: list[int]) -> Any:  # noqa: ANN401 - an untyped library
    """Return the compiled patterns, from the cache where they are there: compiling takes longer than reading 300 MB."""
    key = repr((hyperscan.__version__, platform.machine(), patterns, flags)).encode()
    kept = cache_folder() / "hyperscan" / hashlib.sha256(key).hexdigest()[:24]
    with contextlib.suppress(OSError, hyperscan.HyperscanError, ValueError):
        database = hyperscan.loadb(kept.read_bytes(), hyperscan.HS_MODE_BLOCK)
        database.scratch = hyperscan.Scratch(database)
        return database
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=[pattern.encode() for pattern in patterns],
        ids=list(range(len(patterns))),
        flags=flags,
    )
    with contextlib.suppress(OSError):  # a read-only or full disk costs the cache, not the diagnosis
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_name(f".{kept.name}.{os.getpid()}")
        part.write_bytes(hyperscan.dumpb(database))
        part.replace(kept)
    return database


def _re2(patterns: list[str]) -> Scan:
    import re2

    options = re2.Options()
    options.max_mem = 256 << 20  # the default of 8 MiB makes RE2 fall back to a slow engine for this many patterns
    options.never_nl = False
    return _each(re2.compile(_any(patterns).encode(), options), patterns, re.compile)


def _any(patterns: list[str]) -> str:
    bare = (re.sub(r"\(\?P<\w+>", "(?:", pattern) for pattern in patterns)
    return "|".join(f"(?:{pattern})" for pattern in bare)


def _each(alternatives: Any, patterns: list[str], compiler: Any) -> Scan:  # noqa: ANN401 - re and re2 share a shape, not a type
    """One search over the whole block finds the lines; each pattern is then tried on those lines alone."""
    singles = [compiler(pattern) for pattern in patterns]
    as_bytes = isinstance(alternatives.pattern, bytes)

    def scan(block: bytes) -> list[tuple[int, int]]:
        text: Any = block if as_bytes else block.decode("latin-1")
        newline: Any = b"\n" if as_bytes else "\n"
        return list(_line_hits(alternatives, singles, text, newline))

    return scan


def _line_hits(alternatives: Any, singles: list[Any], text: Any, newline: Any) -> Iterator[tuple[int, int]]:  # noqa: ANN401 - untyped
    position = 0
    while found := alternatives.search(text, position):
        start = text.rfind(newline, 0, found.start()) + 1
        stop = text.find(newline, found.end())
        stop = len(text) if stop < 0 else stop
        line = text[start:stop]
        line = line.decode("latin-1") if isinstance(line, bytes) else line
        for index, single in enumerate(singles):
            if match := single.search(line):
                yield start + max(1, match.end()), index
        position = stop


def _re(patterns: list[str]) -> Scan:
    return _each(re.compile(_any(patterns)), patterns, re.compile)


ENGINES: dict[str, Callable[[list[str]], Scan]] = {"hyperscan": _hyperscan, "re2": _re2, "re": _re}
"""Fastest first."""
