"""Chooses what the charts of a finding show, and says what they leave out. Draws nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leadsman.model import Point

ACTIVE = "active"
"""Outcome of a point that is no gap but the stretch, from `since` to `at`, in which its subject was seen at all."""

CALM = frozenset({"unharmed", ACTIVE})
"""Outcomes of a point that hurt nobody. Any other word is drawn as trouble: it is safer to show too much of it."""

LIMIT = "_limit"
"""A figure `broker_limit = 600` is an idle limit that is configured or known on the path, in seconds: "broker"."""

ACRONYMS = frozenset({"alb", "aws", "elb", "gcp", "lb", "nat", "nlb", "tcp", "vpc", "vpn"})
NAMES = frozenset({"azure", "java", "kafka", "linux", "nitro"})

PIXELS = 600
"""A quiet gap shorter than the span of a timeline divided by this is narrower than a line, and is not cut out."""

NEVER = datetime.max.replace(tzinfo=UTC)

Span = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class Lane:
    """One subject on the timeline: when it was active, which quiet gaps ended in trouble, and when that struck."""

    subject: str
    active: tuple[Span, ...]
    troubled: tuple[Span, ...]
    troubles: tuple[datetime, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """The lanes of a chart, those with trouble first, and how many subjects it has no room for."""

    lanes: tuple[Lane, ...]
    since: datetime
    until: datetime
    left_out: int


@dataclass(frozen=True, slots=True)
class Gap:
    """The length of one quiet gap, and how it ended."""

    seconds: float
    outcome: str


@dataclass(frozen=True, slots=True)
class Gaps:
    """Quiet gaps against their outcome, with the limit inferred from them and the known hops, all in seconds."""

    gaps: tuple[Gap, ...]
    limit_low: float | None
    limit_high: float | None
    hops: tuple[tuple[str, float], ...]
    left_out: int


def is_trouble(point: Point | Gap) -> bool:
    """Tell whether an outcome hurt somebody."""
    return point.outcome not in CALM


def length(point: Point) -> float | None:
    """Measure a point's quiet gap, in seconds. None where it is an instant or no gap."""
    if point.outcome == ACTIVE:
        return None
    if point.since is not None:
        return (point.at - point.since).total_seconds()
    return point.value


def timeline(points: Sequence[Point], at_most: int) -> Timeline | None:
    """Arrange points by subject. None where there is nothing to draw."""
    if not points:
        return None
    since = min(point.since or point.at for point in points)
    until = max(point.at for point in points)
    shortest = (until - since) / PIXELS
    by_subject: dict[str, list[Point]] = {}
    for point in points:
        by_subject.setdefault(point.subject, []).append(point)
    lanes = sorted((_lane(name, own, shortest) for name, own in by_subject.items()), key=_troubled_first)
    return Timeline(tuple(lanes[:at_most]), since, until, max(len(lanes) - at_most, 0))


def _troubled_first(lane: Lane) -> tuple[bool, datetime, str]:
    first = (*lane.troubles, *(since for since, _ in lane.active), NEVER)[0]
    return not lane.troubles, first, lane.subject


def _lane(subject: str, points: Sequence[Point], shortest: timedelta) -> Lane:
    trouble = sorted((point for point in points if is_trouble(point)), key=lambda point: point.at)
    instants = tuple(point.at for point in trouble if point.since is None)
    gaps = sorted((p.since, p.at) for p in points if p.since is not None and p.outcome != ACTIVE)
    seen = sorted((p.since, p.at) for p in points if p.since is not None and p.outcome == ACTIVE)
    reach = (min(point.since or point.at for point in points), max(point.at for point in points))
    wide = tuple(gap for gap in gaps if gap[1] - gap[0] >= shortest)
    return Lane(
        subject=subject,
        active=tuple(part for since, until in seen or [reach] for part in _between(wide, since, until)),
        troubled=tuple((point.since, point.at) for point in trouble if point.since is not None),
        troubles=instants or tuple(point.at for point in trouble),
    )


def _between(gaps: Sequence[Span], first: datetime, last: datetime) -> tuple[Span, ...]:
    """List what remains of a stretch of time without its gaps, which are sorted and may overlap."""
    active, reached = [], first
    for since, until in gaps:
        if first <= since <= last and since >= reached:
            active.append((reached, since))
        if since <= last:
            reached = max(reached, until)
    return (*active, (reached, last)) if reached <= last else tuple(active)


def gaps(points: Sequence[Point], figures: Mapping[str, float | str], at_most: int) -> Gaps | None:
    """Set gaps against outcomes, each kind with half of the room. None where no gap was measured.

    Also where there is nothing to compare troubled ones with: they are the length of stalls then, no quiet gaps.
    """
    measured = [Gap(seconds, point.outcome) for point in points if (seconds := length(point)) and seconds > 0]
    if not measured:
        return None
    trouble, calm = ([gap for gap in measured if is_trouble(gap) is wanted] for wanted in (True, False))
    if not calm and not _limited(figures):
        return None
    room = max(at_most - min(len(calm), at_most // 2), 1)
    kept = _spread(trouble, room)
    kept += _spread(calm, at_most - len(kept))
    return Gaps(
        gaps=tuple(kept),
        limit_low=_seconds(figures, "limit_low"),
        limit_high=_seconds(figures, "limit_high"),
        hops=hops(figures),
        left_out=len(measured) - len(kept),
    )


def _limited(figures: Mapping[str, float | str]) -> bool:
    """Tell whether a limit was inferred or is known on the path."""
    return bool(_seconds(figures, "limit_low") or _seconds(figures, "limit_high") or hops(figures))


def _spread(gaps: Sequence[Gap], at_most: int) -> list[Gap]:
    """Choose gaps by length at even steps, with the shortest and the longest: they tell where the limit lies."""
    by_length = sorted(gaps, key=lambda gap: gap.seconds)
    if len(by_length) <= at_most:
        return by_length
    last = max(at_most - 1, 1)
    return [by_length[n * (len(by_length) - 1) // last] for n in range(at_most)]


def hops(figures: Mapping[str, float | str]) -> tuple[tuple[str, float], ...]:
    """Read the known hops from the figures, the shortest first; hops with one limit share a name."""
    named: dict[float, list[str]] = {}
    for key in sorted(figures):
        seconds = _seconds(figures, key)
        if key.endswith(LIMIT) and seconds:
            named.setdefault(seconds, []).append(_hop_name(key))
    return tuple((", ".join(names), seconds) for seconds, names in sorted(named.items()))


def _hop_name(key: str) -> str:
    words = key.removesuffix(LIMIT).split("_")
    return " ".join(word.upper() if word in ACRONYMS else word.title() if word in NAMES else word for word in words)


def _seconds(figures: Mapping[str, float | str], key: str) -> float | None:
    value = figures.get(key)
    return float(value) if isinstance(value, int | float) and value > 0 and value != float("inf") else None


def ranked(points: Sequence[Point], at_most: int) -> list[Point]:
    """Choose the rows of the table behind the charts: troubles in order of time, then the longest other gaps."""
    trouble = sorted((point for point in points if is_trouble(point)), key=lambda point: point.at)
    calm = [point for point in points if not is_trouble(point) and length(point) is not None]
    return [*trouble, *sorted(calm, key=lambda point: -(length(point) or 0))][:at_most]
