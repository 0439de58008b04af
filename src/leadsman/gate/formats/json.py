"""For programs: one JSON document, `leadsman.check/1`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from leadsman.gate.check import Report
    from leadsman.gate.rule import Violation


def write(report: Report, stream: TextIO) -> None:
    """Write the document."""
    document = {
        "schema": "leadsman.check/1",
        "files": report.files,
        "checked": report.checked,
        "ignored": report.ignored,
        "findings": [_finding(each) for each in report.violations],
        "unreadable": [{"path": each.path, "why": each.why} for each in report.unreadable],
    }
    json.dump(document, stream, indent=1)
    stream.write("\n")


def _finding(each: Violation) -> dict[str, Any]:
    return {
        "rule": each.rule,
        "mode": each.mode,
        "path": each.path,
        "line": each.span.line,
        "column": each.span.column,
        "end_line": each.span.end_line,
        "end_column": each.span.end_column,
        "message": each.message,
        "why": each.why,
        "fix": each.fix,
        "replacement": each.replacement,
    }
