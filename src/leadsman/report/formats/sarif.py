"""`--format sarif`: the lines of source code and settings that invite what is PRESENT, for code scanning."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from leadsman.catalogue import every_rule
from leadsman.gate.baseline import fingerprints
from leadsman.gate.check import Report, check
from leadsman.gate.formats.sarif import artifact_uri, sarif_result, unreadable_files, write_run
from leadsman.report.message.message import message_about, plain, present_findings
from leadsman.report.output_format import OutputFormat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.gate.rule import ModeRule, Violation
    from leadsman.model import Diagnosis, Finding

    Found = Sequence[tuple[Diagnosis, Finding]]


def _write(diagnoses: Sequence[Diagnosis], stream: TextIO, program_paths: Sequence[str] = ()) -> None:
    found, rules = present_findings(diagnoses), every_rule()
    report = _check(found, rules, program_paths, [each.path for each in diagnoses])
    indexes = {each.id: index for index, each in enumerate(rules)}
    marks = fingerprints(report.violations)
    results = [
        _result(sarif_result(each, indexes[each.rule], mark), each, found)
        for each, mark in zip(report.violations, marks, strict=True)
    ]
    write_run(rules, results, [*_without_place(found, report, program_paths), *unreadable_files(report)], stream)


def _check(found: Found, rules: Sequence[ModeRule], program_paths: Sequence[str], captures: Sequence[str]) -> Report:
    """Check the sources by the rules of the modes that are PRESENT. Collected settings are evidence, not sources."""
    modes = {finding.mode for _, finding in found}
    chosen = [each for each in rules if each.mode in modes]
    report = check(program_paths, chosen) if chosen and program_paths else Report()
    folders = [Path(os.path.abspath(each)) for each in captures if "://" not in each]  # noqa: PTH100 - links stay
    report.violations = [each for each in report.violations if not _is_below(each.path, folders)]
    report.unreadable = [each for each in report.unreadable if not _is_below(each.path, folders)]
    return report


def _is_below(path: str, folders: Sequence[Path]) -> bool:
    file = Path(os.path.abspath(path))  # noqa: PTH100 - as above
    return any(file.is_relative_to(each) for each in folders if each != Path.cwd())


def _result(result: dict[str, Any], violation: Violation, found: Found) -> dict[str, Any]:
    """Add what was diagnosed to a finding of the gate: the title, and the lines that prove it."""
    own = [(diagnosis, finding) for diagnosis, finding in found if finding.mode == violation.mode]
    titles = "; ".join(dict.fromkeys(f"{plain(finding.title)} ({plain(each.path)})" for each, finding in own))
    text = f"{violation.message}. {violation.mode} is PRESENT: {titles}. {violation.fix}"
    proof = [line for each in own for line in _evidence(*each)]
    related = [{"id": index, **each} for index, each in enumerate(proof, 1)]
    return {**result, "level": "error", "message": {"text": text}, "relatedLocations": related}


def _evidence(diagnosis: Diagnosis, finding: Finding) -> list[dict[str, Any]]:
    lines = []
    for each in message_about(diagnosis, finding).proof:
        file, _, number = each.where.rpartition(":")
        uri = artifact_uri(_in_capture(diagnosis.path, file))
        location = {"artifactLocation": {"uri": uri}, "region": {"startLine": max(1, int(number))}}
        lines.append({"physicalLocation": location, "message": {"text": each.text}})
    return lines


def _in_capture(capture: str, file: str) -> str:
    """Return the path of a file of a capture as a reader of the document can open it."""
    joined = f"{capture.rstrip('/')}/{file}"
    return joined if "://" in capture or os.path.isfile(joined) else capture if os.path.isfile(capture) else file  # noqa: PTH113 - text


def _without_place(found: Found, report: Report, program_paths: Sequence[str]) -> list[dict[str, Any]]:
    """Return a note for each mode that is PRESENT and that no checked line invites."""
    placed = {each.mode for each in report.violations}
    where = f"no line below {', '.join(program_paths)} invites it" if program_paths else "no sources were checked"
    return [
        {
            "level": "note",
            "message": {
                "text": f"{finding.mode} is PRESENT in {plain(each.path)}, and {where}: {plain(finding.title)}"
            },
        }
        for each, finding in found
        if finding.mode not in placed
    ]


FORMAT = OutputFormat(write=_write, reads_programs=True)
