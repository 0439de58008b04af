"""The card of a failure mode: its causal chain, its alternatives, its cures and its sentences."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

EVERY_SUBJECT = "*"
"""Subject of an observation that is of the whole capture."""


RESOLVED_AFTER = timedelta(minutes=15)
"""Longer than the longest idle limit of a cloud, 600 s, which is the longest pause between two harms of one cause that
is known (`docs/clients.md`)."""

Template = str | tuple[str | tuple[str, ...], ...]
"""Sentences with placeholders, filled in by `words.render`.

A string must find all its figures. Of a tuple, a sentence without all its figures is left out; of a tuple within the
tuple, the first sentence with all its figures is taken.
"""


class Harm(StrEnum):
    """What a failure does to records, programs or brokers. The lab measures exactly these."""

    LOST = "lost"
    DUPLICATED = "duplicated"
    DELAYED = "delayed"
    STALLED = "stalled"
    RETAINED = "retained"
    """State that brokers keep for clients that have ended, such as producer ids."""
    CRASHED = "crashed"
    """Brokers that ended because of the failure."""
    DIED = "died"
    """Consumers that ended by themselves and that nothing restarted."""


HARM_TEXTS = {
    Harm.LOST: "lost records",
    Harm.DUPLICATED: "duplicated records",
    Harm.DELAYED: "late records",
    Harm.STALLED: "stalled requests",
    Harm.RETAINED: "state kept in brokers",
    Harm.CRASHED: "crashed brokers",
    Harm.DIED: "dead consumers",
}
"""Each harm as a reader of the command line and of a mode's page sees it."""

RECORD_HARMS = (Harm.LOST, Harm.DUPLICATED, Harm.DELAYED, Harm.STALLED)
"""What the ledger measures by itself: acknowledged records against stored records."""


class Layer(IntEnum):
    """Where a cause sits, the deepest layer first. Events attributed to a deeper cause are no symptoms of others."""

    HOST = 1
    """Hosts, and the network between them."""
    CLUSTER = 2
    """Brokers, and the leaders of partitions."""
    CLIENT = 3
    """A client and its connections."""


@dataclass(frozen=True, slots=True)
class Link:
    """One step of the causal chain: a statement that telemetry supports or contradicts.

    `claim` is the statement. `observed`, `contradicted` and `not_visible` say what the capture showed, filled in with
    the figures of the observations (see `leadsman.words`). `collect_command` is the one command that would make the
    link visible.
    """

    id: str
    claim: str
    observed: Template
    contradicted: Template
    not_visible: Template
    collect_command: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another cause of the same symptoms (differential diagnosis), and what rules it out.

    `observed` is the sentence for a capture that shows the alternative, `ruled_out` for one that contradicts it,
    `not_visible` for one that shows neither.
    """

    id: str
    cause: str
    ruled_out: Template
    observed: Template
    not_visible: Template
    decisive: bool = False
    """Where this alternative is observed, it explains all symptoms, and the mode is ABSENT."""
    distinguished_by: str = ""
    """What distinguishes the alternative from the mode, for the README's table; empty: not listed there."""


@dataclass(frozen=True, slots=True)
class Cure:
    """One action that ends or prevents the failure: its title, its reason, and settings to copy.

    `settings` can be pasted as it is: a file's lines, code or commands. `measured_settings` and `measured_why` are
    templates that replace `settings` and `why` in a finding that has their figures. A cure for brokers `since_version`
    or `before_version` is left out of a finding that knows another version.
    """

    title: str
    why: str
    settings: str = ""
    measured_settings: str | tuple[str, ...] = ""
    measured_why: str = ""
    since_version: str = ""
    before_version: str = ""


@dataclass(frozen=True, slots=True)
class BenignLine:
    """A log line that looks like the mode's symptom, and why it does no harm."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class MatrixAxes:
    """The heading of a mode's matrix, and the noun for one of its rows and one of its columns."""

    title: str
    row: str
    column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A dashboard panel, drawn from a capture: the detector's points whose outcome is the panel's id.

    `is_standard`: every team's dashboard has this panel already. `unit` is a form of `words`: count, bytes, percent.
    `marks` are outcomes of points that are drawn into the panel: a band where they have a length, else a line. `wide`:
    the panel takes a whole row of the page.
    """

    id: str
    title: str
    unit: str = "count"
    is_standard: bool = False
    marks: tuple[str, ...] = ()
    wide: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartWords:
    """The words of a mode's timeline and idle-gap chart.

    `spans` and `instants` name the outcomes of points that have a length, or none: the legend's entries. `limits` names
    the figures that are idle limits in seconds, and nothing else is drawn as one.
    """

    spans: Mapping[str, str] = field(default_factory=dict)
    instants: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureMode:
    """The card of one failure mode: everything about the mode that is words or data.

    The finding in one or two sentences: `summary` where the mode is PRESENT; `unknown` where the symptom is seen but
    not the cause; `absent`; `no_source` where no source of the capture could have shown the symptom, with the step
    `no_source_next` (where that is empty, the command of the chain's last link). `headline` is the title with figures,
    `title` is the title of a finding without these figures. `next` is the next step after a PRESENT finding. `do_now`
    are steps for the next minutes; a step without all its figures is left out. `impact` says what was lost or delayed,
    for how long, and how urgent it is. `do_now` and `impact` can name `services`: the affected ones.

    `chain` ends with the symptom. `layer` is where the cause sits. `explains` are the event names that a PRESENT
    finding explains, of its own subjects or of those that the detector names; all other errors stay unexplained.
    `symptom_events` are the events that show the symptom: a capture without a source that could report one of them is
    UNKNOWN (`telemetry.source.symptom_sources`), because no data is not good news. `trigger_events` are event names:
    the detector is skipped for a capture with none of them; a mode without trigger events always runs. `read_events`
    are the names of the only events that the detector is given, and it does not run again where other findings explain
    none of these; empty: it is given all events.

    `panels` are drawn on the page as values over time; `chart_words` name what its other charts show. `matrix` names
    the rows and columns of the detector's cells. `onset` is the link whose time is the beginning: changes around that
    time become part of the finding.
    """

    title: str
    harm: tuple[Harm, ...]
    summary: Template
    unknown: Template
    absent: str
    no_source: str
    next: Template
    chain: tuple[Link, ...]
    alternatives: tuple[Alternative, ...]
    cure: tuple[Cure, ...]
    explains: tuple[str, ...]
    benign: tuple[BenignLine, ...] = ()
    symptom_events: tuple[str, ...] = ()
    trigger_events: tuple[str, ...] = ()
    read_events: tuple[str, ...] = ()
    layer: Layer = Layer.CLIENT
    matrix: MatrixAxes | None = None
    what_happens: str = ""
    """The failure in one or two sentences, for the README's table."""
    settings: tuple[tuple[str, str], ...] = ()
    """Programs and settings of `kafka_defaults` whose defaults matter for this mode: the table on the mode's page."""
    onset: str = ""
    symptom: str = ""
    """The id of the link that is the symptom; empty: the last link."""
    story: tuple[str, ...] = ()
    panels: tuple[Panel, ...] = ()
    chart_words: ChartWords = ChartWords()
    resolved_after: timedelta = RESOLVED_AFTER
    """Time without further harm after which `leadsman watch` resolves a finding of this mode."""
    headline: Template = ()
    do_now: tuple[str | tuple[str, ...], ...] = ()
    impact: Template = ()
    no_source_next: str = ""
