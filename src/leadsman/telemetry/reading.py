"""What a reading is: the output of a program that tells how things stood at one moment, and the facts in it.

A log is lines, on which signatures are tried. The output of `kafka-topics --describe` is no log: it has no times, its
lines mean something only together, and a large cluster's has a million of them. A source with a `reading` is told by
the first block of a file, or of a section of one, and reads all of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from leadsman.telemetry.formats.streams import LONGEST_LINE, numbered_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

LINES_TO_TELL_BY = 40
"""Lines at the beginning by which an output is told: warnings and remarks can stand above the first real one."""

A_FEW_REMARKS = 5
"""Warnings that a cloud's tool writes above its document where both go into one file. A log that quotes a document
further down is a log."""

DOCUMENT = re.compile(rb"^[\xef\xbb\xbf \t]*(?:\{\s*\"|\[\s*[\[{])", re.MULTILINE)
MOST_REMARKS = 1 << 20
"""Bytes above a document. More than a tool's warnings are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What is known of an output from without.

    `at` is when it was made, in milliseconds since 1970 UTC; `subject` of whom; `command` by what: all three stand in
    a section's head, and a bare file has none of them. `file` is the path below the capture, `path` where the bytes
    are (compressed perhaps, and perhaps among other sections).
    """

    file: str
    path: str = ""
    at: int | None = None
    subject: str | None = None
    command: str = ""

    def option(self, name: str) -> str | None:
        """Return the value that the command gave for an option such as `--topic`."""
        found = re.search(rf"(?:^|\s){re.escape(name)}[= ]'?([^\s']+)", self.command)
        return found[1] if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Events of one name, as columns of one length: of a million partitions no million objects are made.

    `lines` count from 1 in the output; `texts` stand there literally. `labels` holds a column a label, None where an
    event has it not. `at` (milliseconds since 1970 UTC) and `subjects` are those of `About` where they are None.
    """

    name: str
    lines: Sequence[int] | NDArray[np.int64]
    texts: Sequence[str]
    values: Sequence[float | None] = ()
    labels: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    at: Sequence[int | None] | None = None
    subjects: Sequence[str | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How one program's output is told and read.

    `tells` is given the first block. `facts` is given all blocks (each ends at a newline, except the last, and
    pieces of overlong lines) and what is known from without; it raises OSError where the output breaks off or is not
    what it seemed. `text` is off for files that have no lines.
    Of a JSON document both are given what begins with it: up to `remarks` lines may stand above.
    """

    tells: Callable[[bytes], bool]
    facts: Callable[[Iterable[bytes], About], Iterator[Facts]]
    reports: frozenset[str]
    text: bool = True
    remarks: int = 0

    def knows(self, head: bytes) -> bool:
        """Whether an output that begins so is this program's."""
        if self.tells(head):
            return True
        above = lines_above_document(head) if self.remarks else None
        return above is not None and 0 < above <= self.remarks and self.tells(_from_line(head, above))

    def read(self, blocks: Iterable[bytes], about: About) -> Iterator[Facts]:
        """Yield the facts. One spoilt output among thousands ends its own reading, as an OSError, and nothing else."""
        try:
            yield from self._below_remarks(blocks, about) if self.remarks else self.facts(blocks, about)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            why = f"{type(error).__name__}: {error}"
            raise OSError(f"begins like what its program prints, but does not go on so ({why})") from error

    def _below_remarks(self, blocks: Iterable[bytes], about: About) -> Iterator[Facts]:
        """Yield the facts of a document, on the lines that the output has."""
        unread = iter(blocks)
        head = b""
        while (above := lines_above_document(head)) is None and len(head) <= MOST_REMARKS:
            block = next(unread, None)
            if block is None:
                break
            head += block
        for facts in self.facts(chain([_from_line(head, above or 0)], unread), about):
            yield replace(facts, lines=[int(line) + above for line in facts.lines]) if above else facts


def fact(name: str, line: int, text: str, value: float | None = None, /, **labels: str | None) -> Facts:
    """Return a single event as facts. Labels that are None are left out."""
    held = {key: (each,) for key, each in labels.items() if each is not None}
    return Facts(name=name, lines=(line,), texts=(text,), values=(value,), labels=held)


@lru_cache(1)
def lines_above_document(head: bytes) -> int | None:
    """Return how many lines stand above the first JSON document in a file's beginning; None where there is none."""
    begins = DOCUMENT.search(b"\n".join(_first_lines(head)))
    return None if begins is None else begins.string.count(b"\n", 0, begins.start())


def _from_line(head: bytes, above: int) -> bytes:
    return head.split(b"\n", above)[-1] if above else head


def first_lines(head: bytes, count: int = LINES_TO_TELL_BY) -> list[bytes]:
    """Return the lines by which an output is told, so many at most, without their ends; the last may be cut."""
    return list(_first_lines(head)[:count])


@lru_cache(1)
def _first_lines(head: bytes) -> tuple[bytes, ...]:
    """Remember those of one file: a dozen programs are asked whether it is theirs."""
    lines = head.split(b"\n", LINES_TO_TELL_BY)[:LINES_TO_TELL_BY]
    return tuple(line.removesuffix(b"\r") for line in lines)


def told_by(pattern: str, *, lines: int = LINES_TO_TELL_BY) -> Callable[[bytes], bool]:
    """Return a `tells` for outputs of which one of the first lines begins so."""
    begins = re.compile(pattern.encode()).match
    return lambda head: any(map(begins, first_lines(head, lines)))


def decoded_lines(blocks: Iterable[bytes], longest: int = LONGEST_LINE) -> Iterator[tuple[int, str]]:
    """Yield every line with its number, from 1, without its end. What is beyond `longest` bytes of it is cut."""
    for number, line in numbered_lines(blocks, longest):
        yield number, line.decode("utf-8", "replace")
