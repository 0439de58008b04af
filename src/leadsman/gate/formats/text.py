"""For people: the place, the line with carets below it, the reason, the incident and the fix."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from leadsman.gate.check import Report
    from leadsman.gate.rule import Violation

WIDEST = 160
"""Characters of a quoted line; the span shows which part of a longer line is meant."""


def write(report: Report, stream: TextIO) -> None:
    """Write the findings. Reason and fix of a rule stand at its first finding only."""
    explained: set[str] = set()
    for each in report.violations:
        stream.write(
            f"{printable(each.path)}:{each.span.line}:{each.span.column}: {each.rule}: {printable(each.message)}\n"
        )
        stream.write("".join(f"  {line}\n" for line in _excerpt(each)))
        if each.rule not in explained:
            explained.add(each.rule)
            stream.write(
                f"  why: {each.why}\n  incident: {each.incident} (leadsman explain {each.mode})\n  fix: {each.fix}\n"
            )
        stream.write("\n")
    stream.write(_summary(report))


def _summary(report: Report) -> str:
    count = len(report.violations)
    found = f"{count} finding{'s' if count != 1 else ''}" if count else "No finding"
    ignored = f", {report.ignored} ignored by comments" if report.ignored else ""
    files = f"{report.files} file{'s' if report.files != 1 else ''}"
    return f"{found} in {files}. Files that mention Kafka: {report.checked}{ignored}.\n"


def _excerpt(violation: Violation) -> list[str]:
    text = violation.line_text
    start = violation.span.column - 1
    end = violation.span.end_column - 1 if violation.span.end_line == violation.span.line else len(text)
    if len(text) > WIDEST or start >= len(text):
        return [printable(text[:WIDEST])] if text.strip() else []
    before = "".join(each if each == "\t" else " " for each in text[:start])
    return [printable(text), before + "^" * max(1, min(end, len(text)) - start)]


def printable(text: str) -> str:
    """Return a text without characters that could control a terminal."""
    return "".join(each if each == "\t" or unicodedata.category(each)[0] != "C" else "?" for each in text)
