"""Files in which there are no lines to read: empty ones, and binary ones that no parser knows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman.telemetry.file_format import FileFormat
from leadsman.telemetry.format import NotText

if TYPE_CHECKING:
    from leadsman.telemetry.file_format import FileSample

MAX_CONTROL_SHARE = 0.05
"""Share of control characters that a text may have."""

HOLE_BYTES = 16
HOLE = re.compile(rb"\x00{%d,}" % HOLE_BYTES)
"""Zeros in a log: a file system that lost power fills up with them, and so does a writer that goes on at its old offset
after `copytruncate`. They say nothing of the lines beside them."""

CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b")) + b"\x7f"


def _matches(sample: FileSample) -> NotText | None:
    text = sample.text
    if not text.strip():
        empty = not sample.head.strip(b"\x00 \n\r\t") and b"\x00" not in sample.head
        return NotText("it is empty" if empty else "only NUL bytes")
    lines = HOLE.sub(b"", text) if bytes(HOLE_BYTES) in text else text  # looking costs less than the pattern
    controls = len(lines) - len(lines.translate(None, CONTROLS))
    return NotText("it is not text") if controls > MAX_CONTROL_SHARE * len(lines) else None


FORMAT = FileFormat(
    name="not text",
    priority=300,
    matches=_matches,
    reader=lambda _sample, not_text: not_text,
)
