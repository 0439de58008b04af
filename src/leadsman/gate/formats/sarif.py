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
    results = [
        sarif_result(each, indexes[each.rule], mark) for each, mark in zip(report.violations, marks, strict=True)
    ]
    write_run(report.rules, results, unreadable_files(report), stream)


def write_run(
    rules: Sequence[ModeRule], results: list[dict[str, Any]], notifications: list[dict[str, Any]], stream: TextIO
) -> None:
    """Write a document of one run."""
    run = {
        "tool": {"driver": _driver(rules)},
        "columnKind": "unicodeCodePoints",
        "results": results,
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notifications}],
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


def sarif_result(each: Violation, index: int, mark: str) -> dict[str, Any]:
    """Return the result of one finding of the gate. `index` is its rule's among all, `mark` stays with its line."""
    location = {"artifactLocation": {"uri": artifact_uri(each.path)}, "region": _region(each.span)}
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
        changed = {"artifactLocation": {"uri": artifact_uri(each.path)}, "replacements": [change]}
        result["fixes"] = [{"description": {"text": each.fix}, "artifactChanges": [changed]}]
    return result


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.line,
        "startColumn": max(1, span.column),
        "endLine": max(span.line, span.end_line),
        "endColumn": max(1, span.end_column),
    }


def artifact_uri(path: str) -> str:
    """Return a path, or a URL, as SARIF writes it: a relative path stays relative, to the folder of the repository."""
    if "://" in path:
        return quote(path, safe="/:", errors="surrogateescape")
    pure = PurePath(path)
    return pure.as_uri() if pure.is_absolute() else quote(pure.as_posix(), errors="surrogateescape")


def unreadable_files(report: Report) -> list[dict[str, Any]]:
    """Return a notification for each file that was not checked."""
    return [
        {
            "level": "warning",
            "message": {"text": f"Not checked: {each.why}"},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": artifact_uri(each.path)}}}],
        }
        for each in report.unreadable
    ]
