"""The nouns of the project. Everything else is a function between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from leadsman.condition import Condition

EVERY_SUBJECT = "*"
"""Subject of an observation that holds for the whole capture."""


Words = str | tuple[str | tuple[str, ...], ...]
"""Sentences with placeholders. One whose figures are not all there is left out; of a tuple within, the first that fits
is taken. A plain string must fit."""


class Harm(StrEnum):
    """What a failure does, to records, programs or brokers. The lab measures exactly these."""

    LOST = "lost"
    DUPLICATED = "duplicated"
    DELAYED = "delayed"
    STALLED = "stalled"
    RETAINED = "retained"
    """Things that brokers go on holding for clients that are gone."""
    CRASHED = "crashed"
    """Brokers that died of it."""
    DIED = "died"
    """Consumers that ended by themselves and that nobody started again."""


OF_RECORDS = (Harm.LOST, Harm.DUPLICATED, Harm.DELAYED, Harm.STALLED)
"""What the ledger finds by itself: what was acknowledged against what is stored."""


class Layer(IntEnum):
    """Where a cause sits, the deepest first. What a deeper one accounts for is no symptom of those above it."""

    HOST = 1
    """Hosts, and the network between them."""
    CLUSTER = 2
    """Brokers, and who leads what."""
    CLIENT = 3
    """A client, and what becomes of its connections."""


class Verdict(StrEnum):
    """Three answers, because silence in the telemetry is not health."""

    PRESENT = "PRESENT"
    UNKNOWN = "UNKNOWN"
    ABSENT = "ABSENT"


class State(StrEnum):
    """What the telemetry says about one link of a causal chain."""

    OBSERVED = "observed"
    CONTRADICTED = "contradicted"
    NOT_VISIBLE = "not visible"


@dataclass(frozen=True, slots=True)
class Link:
    """One step from cause to symptom: a statement that telemetry supports or contradicts.

    `claim` is the statement itself. `observed`, `contradicted` and `not_visible` say what was found,
    filled in with the figures of the observations (see `report.words`). `settled_by` is the one
    command that would make the link visible.
    """

    id: str
    claim: str
    observed: Words
    contradicted: Words
    not_visible: Words
    settled_by: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class Rival:
    """Another cause of the same symptoms, and what rules it out."""

    id: str
    cause: str
    ruled_out: Words
    stands: Words
    not_visible: Words
    decisive: bool = False
    """Where it stands, it explains everything, and the mode is absent."""


@dataclass(frozen=True, slots=True)
class Cure:
    """One thing to do about it: what, why, and settings to copy.

    `measured` is a template that takes the place of `settings` in a finding that has its figures. A cure of brokers
    `since_version` or `before_version` is left out of a finding that knows another version.
    """

    title: str
    why: str
    settings: str = ""
    measured: str | tuple[str, ...] = ""
    since_version: str = ""
    before_version: str = ""


@dataclass(frozen=True, slots=True)
class Benign:
    """A line that looks like the mode's symptom, and why it harms nobody."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Axes:
    """What a mode's matrix shows: its heading, and what its rows and columns are, as words for one of each."""

    title: str
    row: str
    column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A panel of a dashboard, drawn from a capture: a detector's points with its id as their outcome.

    `had`: it is on every team's dashboard already. `unit` is a form of `words`: count, bytes, percent. `marks` are
    outcomes of points that are drawn into it: a band where they last, else a line. `wide`: it has a row of its own.
    """

    id: str
    title: str
    unit: str = "count"
    had: bool = False
    marks: tuple[str, ...] = ()
    wide: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureMode:
    """The card of one failure mode: everything about it that is words or data.

    `summary`, `unsettled`, `absent` and `blind` are the finding in a sentence or two: PRESENT; symptoms seen but not
    the cause; not found; nothing in the capture could have shown it. `next` is what to do after a PRESENT finding.
    The last link of `chain` is the symptom. `explains` are the event names that a PRESENT finding accounts for, where
    they are of its subjects or of what the detector says that its subjects account for; all others are unexplained.
    `layer` is where the cause sits. `symptom_sources` are the telemetry sources that could report the
    symptom: a capture with none of them is UNKNOWN, because no data is not good news. `signs` are event names without
    any of which the detector has nothing to say of any subject, so that it need not run; without one it always runs.
    `panels` are drawn on the page, as values over time: those that were green, and those that would have told.
    `matrix` says what the cells are that the detector returns, where it returns any.
    `onset` is the link that says when it began: what changed around that time becomes part of the finding.
    `headline` is the title with figures, of a finding that has them; `title` is that of all others.
    `do_now` are steps for the next minutes, each a template that is left out where a figure of it is missing; `impact`
    says what was lost or delayed, for how long, and how urgent it is. Both know `services`: who is harmed, by name.
    """

    title: str
    harm: tuple[Harm, ...]
    summary: Words
    unsettled: Words
    absent: str
    blind: str
    next: str
    chain: tuple[Link, ...]
    rivals: tuple[Rival, ...]
    cure: tuple[Cure, ...]
    explains: tuple[str, ...]
    benign: tuple[Benign, ...] = ()
    symptom_sources: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()
    layer: Layer = Layer.CLIENT
    matrix: Axes | None = None
    settings: tuple[tuple[str, str], ...] = ()
    """Programs and settings of `defaults.py` whose defaults bear on it: the page's table."""
    onset: str = ""
    symptom: str = ""
    """The link that shows that the mode's symptom was seen: the last one, where none is named."""
    story: tuple[str, ...] = ()
    panels: tuple[Panel, ...] = ()
    headline: Words = ()
    do_now: tuple[str | tuple[str, ...], ...] = ()
    impact: Words = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A line of the input, quoted to the letter (secrets masked), and where it stands.

    `line` counts from 1. `time` is None where the line carries none. `before` and `after` are its neighbours in the
    file, in the file's order, as far as the reader kept them.
    """

    file: str
    line: int
    text: str
    time: datetime | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFinding:
    """One link of the chain in a finding."""

    link: str
    claim: str
    state: State
    says: str
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RivalFinding:
    """One rival in a finding. `ruled_out_by` is None where nothing in the capture rules it out."""

    cause: str
    ruled_out_by: str | None
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One point of an exhibit: something that happened to a subject, and how it ended.

    `since` to `at` is a quiet gap or another span; `outcome` is a word of the mode ("failed", "unharmed"). With the id
    of a panel as its outcome it is a measured value: the panel's, of this subject, at that time.
    """

    subject: str
    outcome: str
    at: datetime
    since: datetime | None = None
    value: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What is between one row and one column of a matrix, and the line that shows it.

    `outcome` is a word of the mode; `trouble` says whether it is the mode's harm. A pair without a cell is one of which
    the capture holds no data.
    """

    row: str
    column: str
    outcome: str
    trouble: bool
    says: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Who stands how to whom. Of large ones the rows and columns with most trouble are kept; the counts are of all."""

    axes: Axes
    cells: tuple[Cell, ...]
    rows: int
    columns: int


class How(StrEnum):
    """What became of a thing between two times."""

    NEW = "new"
    GONE = "gone"
    CHANGED = "changed"
    MORE = "more"
    FEWER = "fewer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that happened to one or several things alike: `count` in all, of which `things` names some.

    `kind` is one of `pipeline.changes.facets`; `key` what of the things changed, where they have several values.
    `restless`: it had changed before, too. `evidence` is where the new state is told first.
    """

    kind: str
    how: How
    things: tuple[str, ...]
    count: int
    key: str = ""
    before: str | float | None = None
    after: str | float | None = None
    restless: bool = False
    evidence: Evidence | None = None

    @property
    def magnitude(self) -> float:
        """By how much: the factor for numbers, for all else to how many things it happened."""
        if isinstance(self.before, float) and isinstance(self.after, float):
            return max(self.before, self.after) / max(min(self.before, self.after), 1.0)
        return float(self.count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What changed, most telling first. `compared` are the kinds of which both sides tell.

    `unseen` are the others, each with whether anything is told of it before, and after: silence is no sameness.
    """

    changes: tuple[Change, ...]
    compared: tuple[str, ...]
    unseen: tuple[tuple[str, bool, bool], ...]
    uncollected: tuple[tuple[str, int], ...] = ()
    """How many things of a kind stood in lists before that were not had after: whether they are gone is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """Events of one name that a finding accounts for: its symptoms, which are listed nowhere else."""

    name: str
    count: int


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
    rivals: tuple[RivalFinding, ...] = ()
    cure: tuple[Cure, ...] = ()
    do_now: tuple[str, ...] = ()
    """Steps for the next minutes, filled in from the finding."""
    impact: str = ""
    next: str = ""
    points: tuple[Point, ...] = ()
    panels: tuple[Panel, ...] = ()
    matrix: Matrix | None = None
    accounts_for: tuple[Folded, ...] = ()
    changes: tuple[Change, ...] = ()
    """What changed around its beginning, where the capture shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorGroup:
    """Errors of one kind with one message, numbers and names in it blanked out.

    `severity` is one of `pipeline.severity`; `novel`: none was seen before the incident.
    """

    kind: str
    count: int
    example: Evidence
    first: datetime | None = None
    last: datetime | None = None
    why: str = ""
    severity: str = ""
    novel: bool = False


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """A file, or a part of one, that could not be read, and why."""

    file: str
    why: str


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that was sought when the capture was made and could not be had: the command, and why."""

    what: str
    why: str
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Everything that was concluded about one capture, or what of it is of one Kafka cluster. `bytes` are uncompressed.

    `cluster` is the cluster's id; None where nothing tells of one, or of several.
    """

    path: str
    verdicts: Mapping[str, Verdict]
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
    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Violation:
    """A place in a client's configuration or source that invites a failure."""

    rule: str
    line: int
    message: str
