"""A baseline: findings of old code that are accepted, so that only new ones fail a check."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from leadsman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from leadsman.gate.rule import Violation

SCHEMA = "leadsman.baseline/1"


def fingerprints(violations: Iterable[Violation]) -> list[str]:
    """Return a mark of each finding that stays when code above it changes: rule, file, the line's text, and a count."""
    counts: Counter[str] = Counter()
    marks = []
    for each in violations:
        text = "\0".join((each.rule, each.path.removeprefix("./"), " ".join(each.line_text.split())))
        mark = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:20]
        counts[mark] += 1
        marks.append(f"{mark}:{counts[mark]}")
    return marks


def new_violations(violations: list[Violation], file: Path) -> list[Violation]:
    """Return the findings that the baseline does not hold. UsageError for a file that is no baseline."""
    try:
        document: Any = json.loads(file.read_text(encoding="utf-8"))
        known = set(document["findings"]) if document["schema"] == SCHEMA else None
    except (ValueError, LookupError, RecursionError, TypeError) as error:
        raise UsageError(
            f"{file} is no baseline. Write one: leadsman check program --write-baseline {file} PATH"
        ) from error
    if known is None:
        raise UsageError(
            f"{file} is not of {SCHEMA}. Write it again: leadsman check program --write-baseline {file} PATH"
        )
    return [each for each, mark in zip(violations, fingerprints(violations), strict=True) if mark not in known]


def write_baseline(violations: list[Violation], file: Path) -> None:
    """Write the marks of all findings, with rule and path for people who read the file."""
    marks = fingerprints(violations)
    findings = {mark: f"{each.rule} {each.path}" for each, mark in zip(violations, marks, strict=True)}
    document = {"schema": SCHEMA, "findings": dict(sorted(findings.items(), key=lambda pair: pair[1]))}
    file.write_text(json.dumps(document, indent=1, ensure_ascii=True) + "\n", encoding="utf-8")
