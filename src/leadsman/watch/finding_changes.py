"""The life of findings: opened, updated, resolved, reopened; one row of history for each change."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from hashlib import blake2b
from typing import TYPE_CHECKING

from leadsman.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from leadsman.model import Diagnosis, Finding

RESOLVED_AFTER = timedelta(minutes=15)
"""Telemetry time without further harm after which a finding is resolved: longer than the longest idle limit of a cloud,
600 s, which is the longest pause between two harms of one cause that is known (`docs/clients.md`)."""


class Life(StrEnum):
    """What happened to a finding."""

    OPENED = "opened"
    UPDATED = "updated"
    RESOLVED = "resolved"
    REOPENED = "reopened"


@dataclass(frozen=True, slots=True)
class FindingChange:
    """One change of one finding, noticed at `at`. `id` names the finding: its mode, capture and cluster."""

    id: str
    life: Life
    mode: str
    path: str
    cluster: str | None
    title: str
    since: datetime | None
    until: datetime | None
    at: datetime


@dataclass(slots=True)
class OpenFinding:
    """The last change of a finding."""

    change: FindingChange
    is_open: bool


@dataclass(slots=True)
class FindingHistory:
    """The changes of all findings so far. With `file`, each is a JSON line there, and is known after a restart."""

    file: Path | None = None
    resolved_after: timedelta = RESOLVED_AFTER
    _known: dict[str, OpenFinding] = field(default_factory=dict)

    def load(self) -> None:
        """Read the changes of earlier runs."""
        if self.file is None or not self.file.exists():
            return
        for line in self.file.read_text(encoding="utf-8").splitlines():
            change = _change(json.loads(line))
            self._known[change.id] = OpenFinding(change, change.life is not Life.RESOLVED)

    def update(self, diagnoses: Sequence[Diagnosis]) -> list[FindingChange]:
        """Return what has changed with these diagnoses, and write it down."""
        changes = list(self._changes(diagnoses))
        for each in changes:
            self._known[each.id] = OpenFinding(each, each.life is not Life.RESOLVED)
        if self.file is not None and changes:
            with self.file.open("a", encoding="utf-8") as file:
                file.writelines(_line(each) + "\n" for each in changes)
        return changes

    def open_findings(self) -> list[FindingChange]:
        """Return the last change of each finding that is open."""
        return [each.change for each in self._known.values() if each.is_open]

    def _changes(self, diagnoses: Iterable[Diagnosis]) -> Iterator[FindingChange]:
        present: set[str] = set()
        for diagnosis in diagnoses:
            for finding in diagnosis.findings:
                if finding.verdict is not Verdict.PRESENT:
                    continue
                change = self._seen(diagnosis, finding)
                present.add(finding_id(diagnosis, finding.mode))
                if change is not None:
                    yield change
        for each in list(self._known.values()):
            if each.is_open and each.change.id not in present:
                yield _again(each.change, Life.RESOLVED)

    def _seen(self, diagnosis: Diagnosis, finding: Finding) -> FindingChange | None:
        known = self._known.get(finding_id(diagnosis, finding.mode))
        is_over = _is_over(diagnosis, finding, self.resolved_after)
        if known is None:
            life = Life.OPENED
        elif not known.is_open:
            if is_over or _same_end(known.change, finding):
                return None
            life = Life.REOPENED
        elif is_over:
            life = Life.RESOLVED
        elif known.change.title == finding.title and _same_end(known.change, finding):
            return None
        else:
            life = Life.UPDATED
        return FindingChange(
            finding_id(diagnosis, finding.mode),
            life,
            finding.mode,
            diagnosis.path,
            diagnosis.cluster,
            finding.title,
            finding.since,
            finding.until,
            datetime.now(UTC),
        )


def finding_id(diagnosis: Diagnosis, mode: str) -> str:
    """Return the id of a mode's finding in one capture and cluster. It does not change while the finding does."""
    text = "\0".join((mode, diagnosis.path, diagnosis.cluster or ""))
    return f"{mode}-{blake2b(text.encode(), digest_size=6).hexdigest()}"


def _is_over(diagnosis: Diagnosis, finding: Finding, resolved_after: timedelta) -> bool:
    if finding.until is None or diagnosis.until is None:
        return False
    return diagnosis.until - finding.until > resolved_after


def _same_end(change: FindingChange, finding: Finding) -> bool:
    return change.until == finding.until


def _again(change: FindingChange, life: Life) -> FindingChange:
    return FindingChange(
        change.id,
        life,
        change.mode,
        change.path,
        change.cluster,
        change.title,
        change.since,
        change.until,
        datetime.now(UTC),
    )


def _line(change: FindingChange) -> str:
    fields = {name: getattr(change, name) for name in FindingChange.__slots__}
    texts = {name: each.isoformat() if isinstance(each, datetime) else each for name, each in fields.items()}
    return json.dumps(texts)


def _change(fields: dict[str, str]) -> FindingChange:
    times = {name: datetime.fromisoformat(fields[name]) if fields[name] else None for name in ("since", "until", "at")}
    return FindingChange(**{**fields, **times, "life": Life(fields["life"])})  # type: ignore[arg-type]  # as written
