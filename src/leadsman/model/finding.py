"""What a diagnosis of a capture consists of: verdicts, findings with their evidence, and errors without explanation."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from typing import TYPE_CHECKING

from leadsman.model.card import ChartWords

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from leadsman.model.card import Cure, MatrixAxes, Panel
    from leadsman.model.change import Change
    from leadsman.model.condition import Condition


class Verdict(StrEnum):
    """The answer for one failure mode. There are three, because a capture without data is not a healthy one."""

    PRESENT = "PRESENT"
    UNKNOWN = "UNKNOWN"
    ABSENT = "ABSENT"


class State(StrEnum):
    """What the telemetry says about one link of a causal chain."""

    OBSERVED = "observed"
    CONTRADICTED = "contradicted"
    NOT_VISIBLE = "not visible"


class Life(StrEnum):
    """What happened to a finding while it was watched."""

    OPENED = "opened"
    UPDATED = "updated"
    WORSE = "worse"
    RESOLVED = "resolved"
    REOPENED = "reopened"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A line of the input, quoted to the letter (secrets masked), with its file and line number.

    `line` counts from 1. `time` is None where the line carries no time. `before` and `after` are the neighbouring lines
    of the file, in the file's order, as far as the reader kept them.
    """

    file: str
    line: int
    text: str
    time: datetime | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFinding:
    """One link of the chain in a finding: its state, the explanation of the state, and the evidence."""

    link: str
    claim: str
    state: State
    explanation: str
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AlternativeFinding:
    """One alternative cause in a finding. `ruled_out_by` is None where nothing in the capture rules the cause out."""

    cause: str
    ruled_out_by: str | None
    explanation: str
    is_observed: bool = False
    """Whether the capture shows this cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One point of a chart: an event of a subject, and how it ended.

    `since` to `at` is an idle gap or another span; `outcome` is a word of the mode ("failed", "unharmed"). Where
    `outcome` is the id of a panel, the point is a measured value of that panel, of this subject, at that time.
    """

    subject: str
    outcome: str
    at: datetime
    since: datetime | None = None
    value: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One row and one column of a matrix: the outcome between the two, and the line that shows it.

    `outcome` is a word of the mode; `is_harm`: the outcome is the mode's harm. A pair without a cell is a pair without
    data in the capture.
    """

    row: str
    column: str
    outcome: str
    is_harm: bool
    explanation: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Outcomes by pair, such as client and broker. A large matrix keeps the rows and columns with most harm.

    `rows` and `columns` count all rows and columns, also those that were dropped.
    """

    axes: MatrixAxes
    cells: tuple[Cell, ...]
    rows: int
    columns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributedEvents:
    """Events of one name that a finding explains: its symptoms. They are listed nowhere else."""

    name: str
    count: int


DETECTOR_ERRORS = "detector-errors.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one detector concluded about one capture."""

    mode: str
    verdict: Verdict
    title: str
    summary: str
    subjects: Mapping[str, object] = field(default_factory=dict)
    since: datetime | None = None
    until: datetime | None = None
    figures: Mapping[str, float | str] = field(default_factory=dict)
    chain: tuple[LinkFinding, ...] = ()
    alternatives: tuple[AlternativeFinding, ...] = ()
    cure: tuple[Cure, ...] = ()
    do_now: tuple[str, ...] = ()
    """Steps for the next minutes, with the finding's figures."""
    impact: str = ""
    next: str = ""
    points: tuple[Point, ...] = ()
    panels: tuple[Panel, ...] = ()
    chart_words: ChartWords = field(default_factory=ChartWords)
    matrix: Matrix | None = None
    attributed_events: tuple[AttributedEvents, ...] = ()
    changes: tuple[Change, ...] = ()
    """Changes around the beginning of the failure, where the capture reaches back far enough."""
    absent_reasons: tuple[str, ...] = ()
    """Why the mode is ABSENT although its symptom was observed, the most decisive first."""
    detector_error: str = ""
    """The stack trace with which the detector failed on this capture; `--out` writes it to `DETECTOR_ERRORS`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorGroup:
    """Errors of one kind with one message; numbers and names in the message are blanked out.

    `severity` is one of `pipeline.severity`; `is_new`: no error of this group was seen before the incident.
    """

    kind: str
    count: int
    example: Evidence
    first: datetime | None = None
    last: datetime | None = None
    why: str = ""
    severity: str = ""
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """A file, or a part of one, that could not be read, and why."""

    file: str
    why: str


@dataclass(frozen=True, slots=True)
class NotCollectedItem:
    """Something that `leadsman collect` tried to collect and could not: the item, the reason and the command."""

    what: str
    why: str
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Everything that was concluded about one capture, or about the part of a capture that is of one Kafka cluster.

    `cluster` is the cluster's id; None where no line names one, or where lines name several. `bytes` are uncompressed.
    """

    path: str
    verdicts: Mapping[str, Verdict]
    absent_reasons: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For each mode that is ABSENT although its symptom was observed: the reasons, the most decisive first."""
    cluster: str | None = None
    findings: tuple[Finding, ...] = ()
    conditions: tuple[Condition, ...] = ()
    unexplained: tuple[ErrorGroup, ...] = ()
    benign: tuple[ErrorGroup, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    files: int = 0
    bytes: int = 0
    lines: int = 0
    sources: tuple[str, ...] = ()
    not_understood: tuple[NotUnderstood, ...] = ()
    not_collected: tuple[NotCollectedItem, ...] = ()
    notes: tuple[str, ...] = ()


def finding_id(diagnosis: Diagnosis, mode: str, onset: datetime | None = None) -> str:
    """Return the id of a mode's finding in one capture and cluster; with `onset`, of the one that began then."""
    parts = (mode, diagnosis.path, diagnosis.cluster or "", *([onset.isoformat()] if onset else []))
    return f"{mode}-{blake2b(chr(0).join(parts).encode(), digest_size=6).hexdigest()}"
