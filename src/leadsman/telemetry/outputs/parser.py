"""Parsers of program outputs, which show a state at one moment: `kafka-topics --describe`, `ss -tan`, a scrape.

A log is lines, on which signatures are tried. The output of `kafka-topics --describe` is no log: it has no times, its
lines mean something only together, and that of a large cluster has a million lines. A source with a `parser`
recognises such an output by the first block of a file, or of a section of one, and parses all of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from leadsman.telemetry.line_records.text_lines import MAX_LINE_BYTES, numbered_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

HEAD_LINES = 40
"""Lines by which an output is recognised: warnings can stand above its first own line."""

MAX_HEAD_LINE_BYTES = 16 << 10
"""Bytes of such a line that are looked at. A line of `kafka-topics --describe` with a hundred replicas has 2 KB."""

MAX_WARNING_LINES = 5
"""Warnings that a cloud's command-line tool writes above its JSON document where stdout and stderr go into one file.
A log that quotes a document further down is a log."""

JSON_START = re.compile(rb"[\xef\xbb\xbf \t]*(?:\{\s*\"|\[\s*[\[{])")
NAMED_GROUP = re.compile(r"\(\?P<\w+>")
MAX_WARNING_BYTES = 1 << 20
"""Bytes above a document. More than the warnings of a tool are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputContext:
    """What is known of an output before it is parsed.

    `at` is when it was collected, in milliseconds since 1970 UTC, `subject` the host or broker that it is of,
    `command` the command that printed it. All three come from the header of a section; a bare file has none of them.
    `file` is the path below the capture, `path` where the bytes are (compressed perhaps, and perhaps among other
    sections).
    """

    file: str
    path: str = ""
    at: int | None = None
    subject: str | None = None
    command: str = ""

    def option(self, name: str) -> str | None:
        """Return the value that the command gave for an option such as `--topic`."""
        match = re.search(rf"(?:^|\s){re.escape(name)}[= ]'?([^\s']+)", self.command)
        return match[1] if match else None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventColumns:
    """Events of one name, as columns of one length: a million partitions do not become a million objects.

    `lines` count from 1 in the output; `texts` stand there literally. `labels` holds one column per label, with None
    where an event does not have it, or one text that all of them have; so with `subjects`. Where `at` (milliseconds
    since 1970 UTC) or `subjects` is None, those of `OutputContext` apply.
    """

    name: str
    lines: Sequence[int] | NDArray[np.int64]
    texts: Sequence[str]
    values: Sequence[float | None] = ()
    labels: Mapping[str, str | Sequence[str | None]] = field(default_factory=dict)
    at: Sequence[int | None] | None = None
    subjects: str | Sequence[str | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputParser:
    """How the output of one program is recognised and parsed.

    `matches` gets the first block. `parse` gets all blocks (each ends at a newline, except the last, and pieces of
    overlong lines) and the context; it raises OSError where the output breaks off or is not what it seemed.
    `event_names` are the events that it can yield. `text` is off for files that have no lines.
    A JSON document may have up to `warning_lines` lines above it, which neither function gets.
    """

    matches: Callable[[bytes], bool]
    parse: Callable[[Iterable[bytes], OutputContext], Iterator[EventColumns]]
    event_names: frozenset[str]
    text: bool = True
    warning_lines: int = 0

    def recognises(self, head: bytes) -> bool:
        """Whether an output that begins so is of this program."""
        if self.matches(head):
            return True
        above = lines_above_document(head) if self.warning_lines else None
        return above is not None and 0 < above <= self.warning_lines and self.matches(_without_lines(head, above))

    def read(self, blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:
        """Yield the events. A damaged output ends its own parsing with an OSError, and nothing else with it."""
        try:
            yield from (
                self._parse_below_warnings(blocks, context) if self.warning_lines else self.parse(blocks, context)
            )
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            why = f"{type(error).__name__}: {error}"
            raise OSError(f"starts like the output of its program, but the rest cannot be parsed ({why})") from error

    def _parse_below_warnings(self, blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:
        """Yield the events of a document, with the line numbers of the whole output."""
        unread = iter(blocks)
        head = b""
        while (above := lines_above_document(head)) is None and len(head) <= MAX_WARNING_BYTES:
            block = next(unread, None)
            if block is None:
                break
            head += block
        for events in self.parse(chain([_without_lines(head, above or 0)], unread), context):
            yield replace(events, lines=[int(line) + above for line in events.lines]) if above else events


def single_event(name: str, line: int, text: str, value: float | None = None, /, **labels: str | None) -> EventColumns:
    """Return one event as columns. Labels that are None are left out."""
    present = {key: (label,) for key, label in labels.items() if label is not None}
    return EventColumns(name=name, lines=(line,), texts=(text,), values=(value,), labels=present)


@lru_cache(1)
def lines_above_document(head: bytes) -> int | None:
    """Return how many lines stand above the first JSON document in a file's beginning; None where there is none."""
    lines = _first_lines(head)
    text, begin = b"\n".join(lines), 0
    for number, line in enumerate(lines):
        if JSON_START.match(text, begin):
            return number
        begin += len(line) + 1
    return None


def _without_lines(head: bytes, count: int) -> bytes:
    return head.split(b"\n", count)[-1] if count else head


def first_lines(head: bytes, count: int = HEAD_LINES) -> list[bytes]:
    """Return the first lines, at most `count` of them, without their ends; the last one may be cut."""
    return list(_first_lines(head)[:count])


@lru_cache(1)
def _first_lines(head: bytes) -> tuple[bytes, ...]:
    """Return the first lines, cached for one file: the parsers of two dozen programs look at them.

    A line longer than MAX_HEAD_LINE_BYTES is cut there: for a document of one line of 256 KB the patterns take 60 ms.
    """
    lines = head.split(b"\n", HEAD_LINES)[:HEAD_LINES]
    return tuple(line[:MAX_HEAD_LINE_BYTES].removesuffix(b"\r") for line in lines)


@dataclass(frozen=True, slots=True)
class HeadLinePattern:
    """A `matches` for outputs of which one of the first `lines` lines begins with this pattern."""

    pattern: str
    lines: int
    match_start: Callable[[bytes], object]

    def __call__(self, head: bytes) -> bool:
        """Whether an output that begins so is of this program."""
        return any(map(self.match_start, first_lines(head, self.lines)))


def head_line_matches(pattern: str, *, lines: int = HEAD_LINES) -> HeadLinePattern:
    """Return a `matches` for outputs of which one of the first lines begins with this pattern."""
    return HeadLinePattern(pattern, lines, re.compile(pattern.encode()).match)


def any_head_line(patterns: Iterable[HeadLinePattern]) -> Callable[[bytes], bool]:
    """Return whether one of the first lines of an output can begin with one of these patterns, in one pass."""
    unnamed = (NAMED_GROUP.sub("(?:", each.pattern) for each in patterns)
    match_start = re.compile("|".join(f"(?:{pattern})" for pattern in unnamed).encode()).match
    return lambda head: any(map(match_start, first_lines(head)))


def decoded_lines(blocks: Iterable[bytes], max_bytes: int = MAX_LINE_BYTES) -> Iterator[tuple[int, str]]:
    """Yield every line with its number, from 1, without its end. A line longer than `max_bytes` is cut there."""
    for number, line in numbered_lines(blocks, max_bytes):
        yield number, line.decode("utf-8", "replace")
