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

from leadsman.report.visible import whole
from leadsman.words import in_utc

if TYPE_CHECKING:
    from leadsman.condition import Condition
    from leadsman.model import Change, Cure, Diagnosis, ErrorGroup, Evidence, Finding, LinkFinding, Matrix, RivalFinding

SCHEMA = "leadsman.findings/1"

Json = dict[str, Any]


def to_json(diagnoses: Iterable[Diagnosis]) -> Json:
    """Build the document: plain dicts, lists, strings and finite numbers, in the order of the captures."""
    return {"schema": SCHEMA, "captures": [_capture(diagnosis) for diagnosis in diagnoses]}


def dumps(diagnoses: Iterable[Diagnosis]) -> str:
    """Write the document, in ASCII: it survives any pipe and any terminal."""
    return json.dumps(to_json(diagnoses), indent=2, allow_nan=False) + "\n"


def schema() -> Json:
    """Read the contract, as JSON Schema 2020-12."""
    text = (files("leadsman.report") / "schema" / "findings-1.schema.json").read_text(encoding="utf-8")
    document: Json = json.loads(text)
    return document


def iso(time: datetime | None) -> str | None:
    """Write a time as ISO 8601 in UTC, to the millisecond."""
    return in_utc(time).isoformat(timespec="milliseconds").replace("+00:00", "Z") if time else None


def _capture(diagnosis: Diagnosis) -> Json:
    return {
        "path": whole(diagnosis.path),
        "cluster": whole(diagnosis.cluster) if diagnosis.cluster else None,
        "from": iso(diagnosis.since),
        "until": iso(diagnosis.until),
        "files": diagnosis.files,
        "bytes": diagnosis.bytes,
        "lines": diagnosis.lines,
        "sources": list(diagnosis.sources),
        "not_understood": [{"file": whole(part.file), "why": whole(part.why)} for part in diagnosis.not_understood],
        "missing": [
            {"what": whole(item.what), "why": whole(item.why), "command": whole(item.command)}
            for item in diagnosis.missing
        ],
        "notes": _plain(diagnosis.notes),
        "verdicts": {mode: str(verdict) for mode, verdict in diagnosis.verdicts.items()},
        "conditions": [_condition(condition) for condition in diagnosis.conditions],
        "findings": [_finding(finding) for finding in diagnosis.findings],
        "unexplained": [_group(group) for group in diagnosis.unexplained],
        "benign": [_group(group) | {"why": whole(group.why)} for group in diagnosis.benign],
    }


def _condition(condition: Condition) -> Json:
    return {
        "kind": condition.kind,
        "title": whole(condition.title),
        "severity": condition.severity,
        "stands": condition.stands,
        "since": iso(condition.since),
        "until": iso(condition.until),
        "count": condition.count,
        "subjects": [whole(subject) for subject in condition.subjects],
        "figures": _plain(condition.figures),
        "evidence": [_evidence(evidence) for evidence in condition.evidence],
    }


def _finding(finding: Finding) -> Json:
    return {
        "mode": finding.mode,
        "verdict": str(finding.verdict),
        "title": whole(finding.title),
        "subjects": _plain(finding.subjects),
        "since": iso(finding.since),
        "until": iso(finding.until),
        "summary": whole(finding.summary),
        "figures": _plain(finding.figures),
        "chain": [_link(link) for link in finding.chain],
        "rivals": [_rival(rival) for rival in finding.rivals],
        "impact": whole(finding.impact),
        "do_now": [whole(step) for step in finding.do_now],
        "cure": [_cure(cure) for cure in finding.cure],
        "next": whole(finding.next),
        "matrix": _matrix(finding.matrix),
        "accounts_for": [{"name": each.name, "count": each.count} for each in finding.accounts_for],
        "changes": [change_json(change) for change in finding.changes],
    }


def change_json(change: Change) -> Json:
    """Build one change: in a finding, and in the document of `leadsman changes`."""
    return {
        "kind": change.kind,
        "how": str(change.how),
        "things": [whole(thing) for thing in change.things],
        "count": change.count,
        "key": whole(change.key),
        "before": _plain(change.before),
        "after": _plain(change.after),
        "restless": change.restless,
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
                "row": whole(cell.row),
                "column": whole(cell.column),
                "outcome": whole(cell.outcome),
                "trouble": cell.trouble,
                "says": whole(cell.says),
                "file": whole(cell.file),
                "line": cell.line,
            }
            for cell in matrix.cells
        ],
    }


def _link(link: LinkFinding) -> Json:
    return {
        "link": link.link,
        "claim": whole(link.claim),
        "state": str(link.state),
        "says": whole(link.says),
        "evidence": [_evidence(evidence) for evidence in link.evidence],
    }


def _rival(rival: RivalFinding) -> Json:
    return {"cause": whole(rival.cause), "ruled_out_by": _plain(rival.ruled_out_by), "says": whole(rival.says)}


def _cure(cure: Cure) -> Json:
    return {"title": cure.title, "why": cure.why, "settings": cure.settings}


def _evidence(evidence: Evidence) -> Json:
    return {
        "file": whole(evidence.file),
        "line": evidence.line,
        "time": iso(evidence.time),
        "text": whole(evidence.text),
    }


def _group(group: ErrorGroup) -> Json:
    return {
        "kind": whole(group.kind),
        "count": group.count,
        "first": iso(group.first),
        "last": iso(group.last),
        "severity": group.severity,
        "novel": group.novel,
        "example": _evidence(group.example),
    }


def _plain(value: object) -> Any:  # noqa: ANN401 - JSON is what it makes of anything
    """Reduce what a detector reported to JSON. A number that is none (NaN, infinity) becomes null."""
    if isinstance(value, Mapping):
        return {whole(str(key)): _plain(entry) for key, entry in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((_plain(entry) for entry in value), key=str)
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return _plain_scalar(value)


def _plain_scalar(value: object) -> str | float | bool | None:
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int) else whole(str(value))
