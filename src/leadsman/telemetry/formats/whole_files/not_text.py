"""Files in which there are no lines to read: empty ones, and binary ones that no parser knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.telemetry.file_format import FileFormat
from leadsman.telemetry.format import NotText

if TYPE_CHECKING:
    from leadsman.telemetry.file_format import FileSample

MAX_CONTROL_SHARE = 0.05
"""Share of control characters that a text may have."""

CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b")) + b"\x7f"


def _matches(sample: FileSample) -> NotText | None:
    text = sample.text
    if not text.strip():
        empty = not sample.head.strip(b"\x00 \n\r\t") and b"\x00" not in sample.head
        return NotText("it is empty" if empty else "only NUL bytes")
    controls = len(text) - len(text.translate(None, CONTROLS))
    return NotText("it is not text") if controls > MAX_CONTROL_SHARE * len(text) else None


FORMAT = FileFormat(
    name="not text",
    priority=300,
    matches=_matches,
    reader=lambda _sample, not_text: not_text,
)
