"""Sections of a collected file: a line above each section names its time, subject, file and command.

    ### leadsman 2026-11-21T12:00:00.000Z broker-1 kafka/topics.txt $ kafka-topics --describe
    ...output of the command...
    ### leadsman exit 0

`leadsman collect` writes these lines, and so do the plain commands that `--print-commands` prints. So one file can hold
a series, the output of many commands, and failures: an exit code other than 0, with the reason above it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MARK = b"### leadsman "
SECTION_LINE = re.compile(MARK + rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z) (\S+) (\S+) \$ ([^\r\n]*)")
EXIT = re.compile(MARK + rb"exit (-?\d{1,9})(?!\d)")
MARK_SEARCH_BYTES = 4096
"""The first section line must begin within these bytes: a pasted file begins with it, at most after a prompt."""


@dataclass(frozen=True, slots=True)
class Section:
    """The time, subject, file in the capture and command of a section. `at` is None where no such time exists."""

    at: datetime | None
    subject: str
    file: str
    command: str


@dataclass(slots=True)
class SectionBody:
    """A section while it is read. `line` is the number of the first line below the section line.

    `exit` is known once `body` has been read to its end; None where the file breaks off before.
    """

    section: Section
    line: int
    body: Iterator[bytes]
    exit: int | None = None


class _Token(NamedTuple):
    """A piece of a file: a section line, an exit line, or other lines."""

    bytes: bytes
    section: Section | None = None
    exit: int | None = None

    @property
    def is_body(self) -> bool:
        return self.section is None and self.exit is None


def section_line(section: Section) -> str:
    """Return the line that begins a section."""
    assert section.at is not None, "a section that is written has a time"
    at = section.at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    command = section.command.replace("\n", "; ")
    return f"### leadsman {at} {as_word(section.subject)} {as_word(section.file)} $ {command}\n"


def exit_line(code: int) -> str:
    """Return the line that ends a section."""
    return f"### leadsman exit {code}\n"


def as_word(text: str) -> str:
    """Return the text without spaces: spaces separate the fields of a section line."""
    return re.sub(r"\s+", "_", text) or "-"


def has_sections(head: bytes) -> bool:
    """Whether a file with this beginning has sections."""
    at = head.find(MARK, 0, MARK_SEARCH_BYTES)
    return at >= 0 and (at == 0 or head[at - 1 : at] == b"\n") and SECTION_LINE.match(head, at) is not None


def read_sections(blocks: Iterable[bytes]) -> Iterator[SectionBody]:
    """Yield the sections of a file. Read each body before the next section: an unread rest is skipped.

    Lines before the first section, or between an exit line and the next section, belong to no section: a prompt.
    """
    return iter(_SectionIterator(_tokens(blocks)))


@dataclass(slots=True)
class _SectionIterator:
    """The state of reading a file: the next token, and its line."""

    tokens: Iterator[_Token]
    line: int = 1
    upcoming: _Token | None = field(init=False)

    def __post_init__(self) -> None:
        self.upcoming = next(self.tokens, None)

    def __iter__(self) -> Iterator[SectionBody]:
        while self.upcoming is not None:
            begun = self.upcoming.section
            self._advance()
            if begun is not None:
                section = SectionBody(begun, self.line, iter(()))
                section.body = self._body(section)
                yield section
                for _ in section.body:
                    pass

    def _body(self, section: SectionBody) -> Iterator[bytes]:
        while self.upcoming is not None and self.upcoming.is_body:
            piece = self.upcoming.bytes
            self._advance()
            yield piece
        if self.upcoming is not None and self.upcoming.exit is not None:
            section.exit = self.upcoming.exit
            self._advance()

    def _advance(self) -> None:
        assert self.upcoming is not None
        self.line += self.upcoming.bytes.count(b"\n")
        self.upcoming = next(self.tokens, None)


def _tokens(blocks: Iterable[bytes]) -> Iterator[_Token]:
    at_line_start = True  # an overlong line comes in several blocks
    for block in blocks:
        start = 0
        for at in _marks(block, at_line_start=at_line_start):
            token, end = _mark(block, at)
            if at > start:
                yield _Token(block[start:at])
            yield token
            start = end
        if start < len(block):
            yield _Token(block[start:])
        at_line_start = block.endswith(b"\n")


def _marks(block: bytes, *, at_line_start: bool) -> Iterator[int]:
    at = block.find(MARK)
    while at >= 0:
        if (block[at - 1 : at] == b"\n" or (at == 0 and at_line_start)) and (
            SECTION_LINE.match(block, at) or EXIT.match(block, at)
        ):
            yield at
        at = block.find(MARK, at + 1)


def _mark(block: bytes, at: int) -> tuple[_Token, int]:
    """Return the mark at this place and where its line ends."""
    end = block.find(b"\n", at) + 1 or len(block)
    line = block[at:end]
    if exit_match := EXIT.match(line):
        return _Token(line, exit=int(exit_match[1])), end
    head_match = SECTION_LINE.match(line)
    assert head_match is not None
    time, subject, file, command = (group.decode("utf-8", "replace") for group in head_match.groups())
    return _Token(line, section=Section(_time(time), subject, file, command)), end


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:  # month 13 of a damaged file
        return None
