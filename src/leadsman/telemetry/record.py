"""One log record of a file, where a record is not simply one line."""

from __future__ import annotations

from typing import NamedTuple


class Record(NamedTuple):
    """One log record out of a format that is not simply one line a record.

    `text` is the decoded message, on which signatures are tried: lines separated by newlines, preceded by the level
    where the format keeps level and message apart. `quote` stands literally in the file on line `line` (1-based,
    decoded as UTF-8 with replacements); `at` is in milliseconds since 1970 UTC. `record_start` is set where this
    record continues an earlier one of its subject (a stack frame, a line of a dump): it is the first line of that
    record. `at` is None then, because the earlier record has the time. There are millions: a tuple takes a third of
    the time that a frozen dataclass takes to make.
    """

    line: int
    at: int | None
    subject: str | None
    text: str
    quote: str
    record_start: str | None = None

    @property
    def first_line(self) -> str:
        """The first line of the whole record, as `Signature.read` needs it."""
        return self.text.split("\n", 1)[0] if self.record_start is None else self.record_start
