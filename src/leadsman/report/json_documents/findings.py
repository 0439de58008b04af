"""Writes a diagnosis as JSON that programs may rely on: the contract "leadsman.findings/1".

Its shape is in `schema/findings-1.schema.json`, its meaning in `docs/findings.md`. Within a version, keys are added
and never renamed, removed or given another meaning.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from leadsman.report.text.escaping import escape_surrogates
from leadsman.words import in_utc

if TYPE_CHECKING:
    from leadsman.model import (
        AlternativeFinding,
        Change,
        Cure,
        Diagnosis,
        ErrorGroup,
        Evidence,
        Finding,
        LinkFinding,
        Matrix,
    )
    from leadsman.model.condition import Condition

SCHEMA = "leadsman.findings/1"

Json = dict[str, Any]


def findings_document(diagnoses: Iterable[Diagnosis]) -> Json:
    """Return the document: plain dicts, lists, strings and finite numbers, in the order of the captures."""
    return {"schema": SCHEMA, "captures": [_capture(diagnosis) for diagnosis in diagnoses]}


def findings_json(diagnoses: Iterable[Diagnosis]) -> str:
    """Return the document as text, in ASCII: any pipe and any terminal can carry it."""
    return json.dumps(findings_document(diagnoses), indent=2, allow_nan=False) + "\n"


def findings_schema() -> Json:
    """Return the contract, as JSON Schema 2020-12."""
    text = (files("leadsman.report.json_documents") / "schema" / "findings-1.schema.json").read_text(encoding="utf-8")
    document: Json = json.loads(text)
    return document


def iso_time(time: datetime | None) -> str | None:
    """Write a time as ISO 8601 in UTC, to the millisecond."""
    return in_utc(time).isoformat(timespec="milliseconds").replace("+00:00", "Z") if time else None


def _capture(diagnosis: Diagnosis) -> Json:
    return {
        "path": escape_surrogates(diagnosis.path),
        "cluster": escape_surrogates(diagnosis.cluster) if diagnosis.cluster else None,
        "from": iso_time(diagnosis.since),
        "until": iso_time(diagnosis.until),
        "files": diagnosis.files,
        "bytes": diagnosis.bytes,
        "lines": diagnosis.lines,
        "sources": list(diagnosis.sources),
        "not_understood": [
            {"file": escape_surrogates(part.file), "why": escape_surrogates(part.why)}
            for part in diagnosis.not_understood
        ],
        "not_collected": [
            {
                "what": escape_surrogates(item.what),
                "why": escape_surrogates(item.why),
                "command": escape_surrogates(item.command),
            }
            for item in diagnosis.not_collected
        ],
        "notes": _plain(diagnosis.notes),
        "verdicts": {mode: str(verdict) for mode, verdict in diagnosis.verdicts.items()},
        "absent_reasons": {mode: _plain(reasons) for mode, reasons in diagnosis.absent_reasons.items()},
        "conditions": [_condition(condition) for condition in diagnosis.conditions],
        "findings": [_finding(finding) for finding in diagnosis.findings],
        "unexplained": [_group(group) for group in diagnosis.unexplained],
        "benign": [_group(group) | {"why": escape_surrogates(group.why)} for group in diagnosis.benign],
    }


def _condition(condition: Condition) -> Json:
    return {
        "kind": condition.kind,
        "title": escape_surrogates(condition.title),
        "severity": condition.severity,
        "ongoing": condition.ongoing,
        "since": iso_time(condition.since),
        "until": iso_time(condition.until),
        "count": condition.count,
        "subjects": [escape_surrogates(subject) for subject in condition.subjects],
        "figures": _plain(condition.figures),
        "evidence": [_evidence(evidence) for evidence in condition.evidence],
    }


def _finding(finding: Finding) -> Json:
    return {
        "mode": finding.mode,
        "verdict": str(finding.verdict),
        "title": escape_surrogates(finding.title),
        "subjects": _plain(finding.subjects),
        "since": iso_time(finding.since),
        "until": iso_time(finding.until),
        "summary": escape_surrogates(finding.summary),
        "figures": _plain(finding.figures),
        "chain": [_link(link) for link in finding.chain],
        "alternatives": [_alternative(each) for each in finding.alternatives],
        "impact": escape_surrogates(finding.impact),
        "do_now": [escape_surrogates(step) for step in finding.do_now],
        "cure": [_cure(cure) for cure in finding.cure],
        "next": escape_surrogates(finding.next),
        "matrix": _matrix(finding.matrix),
        "attributed_events": [{"name": each.name, "count": each.count} for each in finding.attributed_events],
        "changes": [change_json(change) for change in finding.changes],
    }


def change_json(change: Change) -> Json:
    """Return one change, for a finding and for the document of `leadsman changes`."""
    return {
        "kind": change.kind,
        "how": str(change.how),
        "things": [escape_surrogates(thing) for thing in change.things],
        "count": change.count,
        "key": escape_surrogates(change.key),
        "before": _plain(change.before),
        "after": _plain(change.after),
        "changed_earlier": change.changed_earlier,
        "evidence": _evidence(change.evidence) if change.evidence else None,
    }


def _matrix(matrix: Matrix | None) -> Json | None:
    if matrix is None:
        return None
    return {
        "title": matrix.axes.title,
        "row": matrix.axes.row,
        "column": matrix.axes.column,
        "rows": matrix.rows,
        "columns": matrix.columns,
        "cells": [
            {
                "row": escape_surrogates(cell.row),
                "column": escape_surrogates(cell.column),
                "outcome": escape_surrogates(cell.outcome),
                "is_harm": cell.is_harm,
                "explanation": escape_surrogates(cell.explanation),
                "file": escape_surrogates(cell.file),
                "line": cell.line,
            }
            for cell in matrix.cells
        ],
    }


def _link(link: LinkFinding) -> Json:
    return {
        "link": link.link,
        "claim": escape_surrogates(link.claim),
        "state": str(link.state),
        "explanation": escape_surrogates(link.explanation),
        "evidence": [_evidence(evidence) for evidence in link.evidence],
    }


def _alternative(alternative: AlternativeFinding) -> Json:
    return {
        "cause": escape_surrogates(alternative.cause),
        "ruled_out_by": _plain(alternative.ruled_out_by),
        "explanation": escape_surrogates(alternative.explanation),
        "observed": alternative.is_observed,
    }


def _cure(cure: Cure) -> Json:
    return {"title": cure.title, "why": cure.why, "settings": cure.settings}


def _evidence(evidence: Evidence) -> Json:
    return {
        "file": escape_surrogates(evidence.file),
        "line": evidence.line,
        "time": iso_time(evidence.time),
        "text": escape_surrogates(evidence.text),
    }


def _group(group: ErrorGroup) -> Json:
    return {
        "kind": escape_surrogates(group.kind),
        "count": group.count,
        "first": iso_time(group.first),
        "last": iso_time(group.last),
        "severity": group.severity,
        "is_new": group.is_new,
        "example": _evidence(group.example),
    }


def _plain(value: object) -> Any:  # noqa: ANN401 - JSON is what it makes of anything
    """Reduce a value of a detector to JSON. NaN and infinity become null."""
    if isinstance(value, Mapping):
        return {escape_surrogates(str(key)): _plain(entry) for key, entry in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((_plain(entry) for entry in value), key=str)
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return _plain_scalar(value)


def _plain_scalar(value: object) -> str | float | bool | None:
    if isinstance(value, datetime):
        return iso_time(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int) else escape_surrogates(str(value))
