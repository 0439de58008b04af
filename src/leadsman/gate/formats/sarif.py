"""SARIF 2.1.0, the format of code scanning."""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TextIO
from urllib.parse import quote

from leadsman import __version__
from leadsman.gate.baseline import fingerprints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.gate.check import Report
    from leadsman.gate.code.syntax import Span
    from leadsman.gate.rule import ModeRule, Violation

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
REPOSITORY = "https://github.com/leadsman/leadsman"


def write(report: Report, stream: TextIO) -> None:
    """Write one run with all rules, also those without a finding."""
    indexes = {each.id: index for index, each in enumerate(report.rules)}
    marks = fingerprints(report.violations)
    results = [_result(each, indexes[each.rule], mark) for each, mark in zip(report.violations, marks, strict=True)]
    run = {
        "tool": {"driver": _driver(report.rules)},
        "columnKind": "unicodeCodePoints",
        "results": results,
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": _notifications(report)}],
    }
    json.dump({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, stream, indent=1)
    stream.write("\n")


def _driver(rules: Sequence[ModeRule]) -> dict[str, Any]:
    return {
        "name": "leadsman",
        "version": __version__,
        "informationUri": REPOSITORY,
        "rules": [_rule(each) for each in rules],
    }


def _rule(each: ModeRule) -> dict[str, Any]:
    return {
        "id": each.id,
        "shortDescription": {"text": each.rule.title},
        "fullDescription": {"text": each.rule.why},
        "help": {"text": each.rule.fix},
        "helpUri": f"{REPOSITORY}/blob/main/docs/gate.md",
        "defaultConfiguration": {"level": "warning"},
        "properties": {"tags": ["kafka", each.mode]},
    }


def _result(each: Violation, index: int, mark: str) -> dict[str, Any]:
    location = {"artifactLocation": {"uri": _uri(each.path)}, "region": _region(each.span)}
    result: dict[str, Any] = {
        "ruleId": each.rule,
        "ruleIndex": index,
        "level": "warning",
        "message": {"text": f"{each.message}. {each.fix}"},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"leadsman/v1": mark},
    }
    if each.replacement is not None and each.replacement_span is not None:
        change = {"deletedRegion": _region(each.replacement_span), "insertedContent": {"text": each.replacement}}
        changed = {"artifactLocation": {"uri": _uri(each.path)}, "replacements": [change]}
        result["fixes"] = [{"description": {"text": each.fix}, "artifactChanges": [changed]}]
    return result


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.line,
        "startColumn": max(1, span.column),
        "endLine": max(span.line, span.end_line),
        "endColumn": max(1, span.end_column),
    }


def _uri(path: str) -> str:
    pure = PurePath(path)
    return pure.as_uri() if pure.is_absolute() else quote(pure.as_posix(), errors="surrogateescape")


def _notifications(report: Report) -> list[dict[str, Any]]:
    return [
        {
            "level": "warning",
            "message": {"text": f"Not checked: {each.why}"},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(each.path)}}}],
        }
        for each in report.unreadable
    ]
