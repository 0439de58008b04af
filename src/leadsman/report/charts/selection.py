"""Selects the data of a finding's timeline and idle-gap chart, and counts the omitted data. Draws nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from leadsman.model import ChartWords

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leadsman.model import Point

NO_WORDS = ChartWords()

ACTIVE_OUTCOME = "active"
"""Outcome of a point that is no gap: from `since` to `at` the subject wrote lines."""

RECOVERED_OUTCOME = "recovered"
"""Outcome of an instant at which a harm ended by itself."""

UNUSED_OUTCOME = "unused"
"""Outcome of a gap after which the connection was not used: it shows nothing about an idle limit."""

HARMLESS_OUTCOMES = frozenset({"unharmed", ACTIVE_OUTCOME, RECOVERED_OUTCOME, UNUSED_OUTCOME})
"""Outcomes without harm. Any other outcome is drawn as harm: showing too much harm is safer than too little."""

LIMIT_SUFFIX = "_limit"
"""The figure `broker_limit = 600` is the idle limit "broker" of the network path, configured or known, in seconds."""

ACRONYMS = frozenset({"alb", "aws", "elb", "gcp", "lb", "nat", "nlb", "tcp", "vpc", "vpn"})
PRODUCT_NAMES = frozenset({"azure", "java", "kafka", "linux", "nitro"})

TIMELINE_PIXELS = 600
"""A gap shorter than the timeline divided by this number is narrower than a line, and is not drawn."""

NEVER = datetime.max.replace(tzinfo=UTC)

Span = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class Lane:
    """One subject on the timeline: its active spans, its harmful gaps, and instants with their outcomes.

    `gap_outcomes` are the outcomes of the harmful gaps.
    """

    subject: str
    active: tuple[Span, ...]
    harmed_gaps: tuple[Span, ...]
    instants: tuple[tuple[datetime, str], ...]
    gap_outcomes: frozenset[str] = frozenset()

    @property
    def harm_times(self) -> tuple[datetime, ...]:
        """The times of harm."""
        return tuple(at for at, outcome in self.instants if outcome not in HARMLESS_OUTCOMES)

    @property
    def recovery_times(self) -> tuple[datetime, ...]:
        """The times at which harm ended by itself."""
        return tuple(at for at, outcome in self.instants if outcome in HARMLESS_OUTCOMES)


@dataclass(frozen=True, slots=True)
class Timeline:
    """The lanes of a timeline, those with failures first, and the number of omitted subjects."""

    lanes: tuple[Lane, ...]
    since: datetime
    until: datetime
    omitted: int


@dataclass(frozen=True, slots=True)
class GapOutcome:
    """The length of one idle gap, and its outcome."""

    seconds: float
    outcome: str


@dataclass(frozen=True, slots=True)
class Gaps:
    """Idle gaps with their outcomes, the inferred limit and the known idle limits of the path, all in seconds."""

    gaps: tuple[GapOutcome, ...]
    limit_low: float | None
    limit_high: float | None
    idle_limits: tuple[tuple[str, float], ...]
    omitted: int


def is_harmful(point: Point | GapOutcome) -> bool:
    """Whether the outcome is harm."""
    return point.outcome not in HARMLESS_OUTCOMES


def gap_seconds(point: Point) -> float | None:
    """Return the length of a point's idle gap, in seconds. None where the point is an instant or no gap."""
    if point.outcome == ACTIVE_OUTCOME:
        return None
    if point.since is not None:
        return (point.at - point.since).total_seconds()
    return point.value


def select_timeline(points: Sequence[Point], at_most: int, words: ChartWords = NO_WORDS) -> Timeline | None:
    """Return the points by subject. None without points."""
    if not points:
        return None
    since = min(point.since or point.at for point in points)
    until = max(point.at for point in points)
    shortest_visible = (until - since) / TIMELINE_PIXELS
    by_subject: dict[str, list[Point]] = {}
    for point in points:
        by_subject.setdefault(point.subject, []).append(point)
    lanes = sorted((_lane(name, own, shortest_visible, words) for name, own in by_subject.items()), key=_harmed_first)
    return Timeline(tuple(lanes[:at_most]), since, until, max(len(lanes) - at_most, 0))


def _harmed_first(lane: Lane) -> tuple[bool, datetime, str]:
    first = (*lane.harm_times, *(since for since, _ in lane.active), NEVER)[0]
    return not lane.harm_times, first, lane.subject


def _lane(subject: str, points: Sequence[Point], shortest_visible: timedelta, words: ChartWords) -> Lane:
    harmful = sorted((point for point in points if is_harmful(point)), key=lambda point: point.at)
    gaps = sorted((p.since, p.at) for p in points if p.since is not None and p.outcome != ACTIVE_OUTCOME)
    active = sorted((p.since, p.at) for p in points if p.since is not None and p.outcome == ACTIVE_OUTCOME)
    reach = [(min(point.since or point.at for point in points), max(point.at for point in points))] if gaps else []
    wide = tuple(gap for gap in gaps if gap[1] - gap[0] >= shortest_visible)
    return Lane(
        subject=subject,
        active=tuple(part for since, until in active or reach for part in _active_spans(wide, since, until)),
        harmed_gaps=tuple((point.since, point.at) for point in harmful if point.since is not None),
        instants=_instants(points, words),
        gap_outcomes=frozenset(point.outcome for point in harmful if point.since is not None),
    )


def _instants(points: Sequence[Point], words: ChartWords) -> tuple[tuple[datetime, str], ...]:
    """Return the instants of a lane. Without any, harmful gaps end in one, but for those that `words` name as spans."""
    marked = [point for point in points if point.since is None and is_marked(point)]
    ends = [point for point in points if is_harmful(point) and ends_in_harm(point.outcome, words)]
    return tuple(sorted((point.at, point.outcome) for point in marked or ends))


def is_marked(point: Point) -> bool:
    """Whether a point is drawn as an instant where it has no length."""
    return is_harmful(point) or point.outcome == RECOVERED_OUTCOME


def ends_in_harm(outcome: str, words: ChartWords) -> bool:
    """Whether the end of a gap with this outcome is the harm: a stall can end well."""
    return outcome in words.instants or outcome not in words.spans


def _active_spans(gaps: Sequence[Span], first: datetime, last: datetime) -> tuple[Span, ...]:
    """Return a span of time without its gaps, which are sorted and may overlap."""
    active, reached = [], first
    for since, until in gaps:
        if first <= since <= last and since >= reached:
            active.append((reached, since))
        if since <= last:
            reached = max(reached, until)
    return (*active, (reached, last)) if reached <= last else tuple(active)


def select_gaps(
    points: Sequence[Point], figures: Mapping[str, float | str], at_most: int, words: ChartWords = NO_WORDS
) -> Gaps | None:
    """Return gaps with harm and gaps without, each at most half of the chart. None where no gap was measured.

    None also where all gaps are harmful and no limit is known: they are lengths of stalls then, no idle gaps.
    """
    measured = [
        GapOutcome(seconds, point.outcome)
        for point in points
        if point.outcome != UNUSED_OUTCOME and (seconds := gap_seconds(point)) and seconds > 0
    ]
    if not measured:
        return None
    harmful, harmless = ([gap for gap in measured if is_harmful(gap) is kind] for kind in (True, False))
    limits = idle_limits(figures, words)
    if not (harmless or limits or _has_limit(figures)):
        return None
    harmful_at_most = max(at_most - min(len(harmless), at_most // 2), 1)
    selected = _evenly_by_length(harmful, harmful_at_most)
    selected += _evenly_by_length(harmless, at_most - len(selected))
    return Gaps(
        gaps=tuple(selected),
        limit_low=_figure_seconds(figures, "limit_low"),
        limit_high=_figure_seconds(figures, "limit_high"),
        idle_limits=limits,
        omitted=len(measured) - len(selected),
    )


def _has_limit(figures: Mapping[str, float | str]) -> bool:
    """Whether a limit was inferred."""
    return bool(_figure_seconds(figures, "limit_low") or _figure_seconds(figures, "limit_high"))


def _evenly_by_length(gaps: Sequence[GapOutcome], at_most: int) -> list[GapOutcome]:
    """Return gaps by length at even steps, with the shortest and the longest: they bound the limit."""
    by_length = sorted(gaps, key=lambda gap: gap.seconds)
    if len(by_length) <= at_most:
        return by_length
    last = max(at_most - 1, 1)
    return [by_length[n * (len(by_length) - 1) // last] for n in range(at_most)]


def idle_limits(figures: Mapping[str, float | str], words: ChartWords = NO_WORDS) -> tuple[tuple[str, float], ...]:
    """Return the known idle limits from the figures, the shortest first; equal limits share an entry.

    Without words for limits, every figure with the suffix is a limit.
    """
    names = words.limits or {key: _limit_name(key) for key in sorted(figures) if key.endswith(LIMIT_SUFFIX)}
    names_by_limit: dict[float, list[str]] = {}
    for key, name in names.items():
        if seconds := _figure_seconds(figures, key):
            names_by_limit.setdefault(seconds, []).append(name)
    return tuple((", ".join(names), seconds) for seconds, names in sorted(names_by_limit.items()))


def _limit_name(key: str) -> str:
    words = key.removesuffix(LIMIT_SUFFIX).split("_")
    return " ".join(
        word.upper() if word in ACRONYMS else word.title() if word in PRODUCT_NAMES else word for word in words
    )


def _figure_seconds(figures: Mapping[str, float | str], key: str) -> float | None:
    value = figures.get(key)
    return float(value) if isinstance(value, int | float) and value > 0 and value != float("inf") else None


def table_rows(points: Sequence[Point], at_most: int) -> list[Point]:
    """Return the rows of the table: failures in order of time, then the longest other gaps."""
    harmful = sorted((point for point in points if is_harmful(point)), key=lambda point: point.at)
    harmless = [point for point in points if not is_harmful(point) and gap_seconds(point) is not None]
    return [*harmful, *sorted(harmless, key=lambda point: -(gap_seconds(point) or 0))][:at_most]
