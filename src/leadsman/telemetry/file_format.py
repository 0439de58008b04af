"""What a module below `formats/` declares: which files are of its format, in which order it is tried, how it reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from leadsman.telemetry.json_records import json_fields
from leadsman.telemetry.timestamps import line_timestamps

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.telemetry.format import NotText, RecognisedFormat
    from leadsman.telemetry.timestamps.line_timestamps import LineTimestamps
    from leadsman.telemetry.timestamps.timestamp_format import TimeDefaults

MAX_LINES = 200
MAX_LINE_BYTES = 4096
"""Bytes of one line that are looked at: what shows the format of a line stands near its beginning."""


@dataclass(frozen=True)
class FileSample:
    """The first decompressed block of a file, `head`; its last line may be cut. What several formats need is cached.

    `recognise` recognises other bytes as a whole file (the same text in another encoding), `recognise_section` as a
    section of a file.
    """

    head: bytes
    defaults: TimeDefaults
    recognise: Callable[[bytes], RecognisedFormat | NotText]
    recognise_section: Callable[[bytes], RecognisedFormat | NotText]

    @cached_property
    def text(self) -> bytes:
        """The block without the NUL bytes that `copytruncate` leaves at the beginning of a log."""
        return self.head.lstrip(b"\x00")

    @cached_property
    def lines(self) -> list[bytes]:
        """The first lines, and as many from all over the block."""
        lines = [line[:MAX_LINE_BYTES] for line in self.text.split(b"\n")]
        if len(lines) > 1:
            lines.pop()  # cut by the end of the block, or empty
        if len(lines) <= MAX_LINES:
            return lines
        half = MAX_LINES // 2
        return lines[:half] + lines[half :: max(1, (len(lines) - half) // half)]

    @cached_property
    def nonblank_lines(self) -> list[bytes]:
        """The lines that are not blank."""
        return [line for line in self.lines if line.strip()]

    @cached_property
    def timestamps(self) -> LineTimestamps:
        """How the lines carry their times."""
        return line_timestamps.detect_timestamps(self.lines, self.defaults)

    @cached_property
    def timed_lines(self) -> list[bytes]:
        """The lines that carry a time."""
        return [line for line, at in zip(self.lines, self.timestamps.times, strict=True) if at is not None]

    @cached_property
    def is_zoned(self) -> bool:
        """Whether every time on the lines names its zone."""
        return line_timestamps.is_zoned(self.lines, self.defaults, self.timestamps)

    @cached_property
    def json_objects(self) -> list[dict[str, Any]]:
        """The JSON objects on the first lines."""
        return [record for line in self.lines[:MAX_LINES] if (record := json_fields.parse_object(line))]

    @cached_property
    def nonblank_beginnings(self) -> int:
        """How many of the first lines, on which JSON objects are looked for, are not blank."""
        return sum(1 for line in self.lines[:MAX_LINES] if line.strip())

    @property
    def timestamp_names(self) -> tuple[str, ...]:
        """The names of the timestamp formats that were met, for the report."""
        return self.timestamps.names or ("undated text",)

    def with_lines(self, lines: list[bytes]) -> FileSample:
        """Return a sample that has these lines in place of its own."""
        other = replace(self)
        vars(other)["lines"] = lines
        return other


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFormat:
    """One format, declared as `FORMAT` in a module below `formats/`.

    The formats are tried in order of `priority`, the lowest first; no two formats have the same. `matches` returns
    something true where a file is of this format; `reader` gets it, and returns how the file is read. `in_sections` is
    off for a format that a section of a file cannot have.
    """

    name: str
    priority: int
    matches: Callable[[FileSample], Any]
    reader: Callable[[FileSample, Any], RecognisedFormat | NotText]
    in_sections: bool = True
