"""What stands above each piece of a collected file: when, of whom and by which command it was had.

    ### leadsman 2026-11-21T12:00:00.000Z broker-1 kafka/topics.txt $ kafka-topics --describe
    ...what the command said...
    ### leadsman exit 0

`leadsman collect` writes these lines, and so do the plain commands that `--print-commands` prints. So one file can hold
a series, the output of many commands, and what could not be had: an exit code that is not 0, and the reason above it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MARK = b"### leadsman "
HEAD = re.compile(MARK + rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z) (\S+) (\S+) \$ ([^\r\n]*)")
EXIT = re.compile(MARK + rb"exit (-?\d+)")
NEAR = 4096
"""Bytes in which the first mark is looked for: a pasted file begins with it, give or take a prompt."""


@dataclass(frozen=True, slots=True)
class Section:
    """When something was had, of whom, as which file of a capture, and by which command."""

    at: datetime
    subject: str
    file: str
    command: str


@dataclass(slots=True)
class Part:
    """A section as it is read. `line` is the number of its first line below the head.

    `exit` is known once `body` has been read to its end; None where the file breaks off before.
    """

    section: Section
    line: int
    body: Iterator[bytes]
    exit: int | None = None


class _Token(NamedTuple):
    """A piece of a file: a head, an exit, or lines of neither. `lines` is how many newlines are in it."""

    bytes: bytes
    head: Section | None = None
    exit: int | None = None

    @property
    def is_body(self) -> bool:
        return self.head is None and self.exit is None


def head_line(section: Section) -> str:
    """Return the line that begins a section."""
    at = section.at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    command = section.command.replace("\n", "; ")
    return f"### leadsman {at} {word(section.subject)} {word(section.file)} $ {command}\n"


def exit_line(code: int) -> str:
    """Return the line that ends a section."""
    return f"### leadsman exit {code}\n"


def word(text: str) -> str:
    """Return the text as one word: a head's fields are parted by spaces."""
    return re.sub(r"\s+", "_", text) or "-"


def is_sectioned(head: bytes) -> bool:
    """Whether a file that begins so has sections."""
    at = head.find(MARK, 0, NEAR)
    return at >= 0 and (at == 0 or head[at - 1 : at] == b"\n") and HEAD.match(head, at) is not None


def parts(blocks: Iterable[bytes]) -> Iterator[Part]:
    """Take a file apart. Each part's body must be read before the next part is asked for; what is left is passed over.

    What stands before the first head, or between an exit and the next head, is nobody's: a prompt, a remark.
    """
    return iter(_Reader(_tokens(blocks)))


@dataclass(slots=True)
class _Reader:
    """Where the reading of a file stands: the token that comes next, and its line."""

    tokens: Iterator[_Token]
    line: int = 1
    coming: _Token | None = field(init=False)

    def __post_init__(self) -> None:
        self.coming = next(self.tokens, None)

    def __iter__(self) -> Iterator[Part]:
        while self.coming is not None:
            head = self.coming.head
            self._pass()
            if head is not None:
                part = Part(head, self.line, iter(()))
                part.body = self._body(part)
                yield part
                for _ in part.body:
                    pass

    def _body(self, part: Part) -> Iterator[bytes]:
        while self.coming is not None and self.coming.is_body:
            piece = self.coming.bytes
            self._pass()
            yield piece
        if self.coming is not None and self.coming.exit is not None:
            part.exit = self.coming.exit
            self._pass()

    def _pass(self) -> None:
        assert self.coming is not None
        self.line += self.coming.bytes.count(b"\n")
        self.coming = next(self.tokens, None)


def _tokens(blocks: Iterable[bytes]) -> Iterator[_Token]:
    fresh = True  # whether a line begins here: an overlong one comes in several blocks
    for block in blocks:
        start = 0
        for at in _marks(block, fresh=fresh):
            token, end = _mark(block, at)
            if at > start:
                yield _Token(block[start:at])
            yield token
            start = end
        if start < len(block):
            yield _Token(block[start:])
        fresh = block.endswith(b"\n")


def _marks(block: bytes, *, fresh: bool) -> Iterator[int]:
    at = block.find(MARK)
    while at >= 0:
        if (block[at - 1 : at] == b"\n" or (at == 0 and fresh)) and (HEAD.match(block, at) or EXIT.match(block, at)):
            yield at
        at = block.find(MARK, at + 1)


def _mark(block: bytes, at: int) -> tuple[_Token, int]:
    """Return the mark at this place and where its line ends."""
    end = block.find(b"\n", at) + 1 or len(block)
    line = block[at:end]
    if found := EXIT.match(line):
        return _Token(line, exit=int(found[1])), end
    told = HEAD.match(line)
    assert told is not None
    when, subject, file, command = (group.decode("utf-8", "replace") for group in told.groups())
    return _Token(line, head=Section(datetime.fromisoformat(when), subject, file, command)), end
