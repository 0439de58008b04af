"""Chooses what the panels of a finding show: measured values over time, from the capture that was diagnosed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leadsman.words import count, duration, size, span

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leadsman.model import Finding, Panel, Point

FULL_PERCENT = 100.0

APART_SECONDS = 1.0
"""Marks of one kind that are closer would be drawn over each other."""

MOST_MARKS = 24

Value = tuple["datetime", float]


@dataclass(frozen=True, slots=True)
class Line:
    """What one subject's value did: in order of time."""

    subject: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened while the values were what they were; an instant where `since` is `at`."""

    says: str
    since: datetime
    at: datetime


@dataclass(frozen=True, slots=True)
class Drawn:
    """A panel with its lines, the highest first, how many it has no room for, and what is marked in it."""

    panel: Panel
    lines: tuple[Line, ...]
    left_out: int
    marks: tuple[Mark, ...] = ()

    @property
    def low(self) -> float:
        """The lowest value of all lines."""
        return min(value for line in self.lines for _, value in line.values)

    @property
    def high(self) -> float:
        """The highest value of all lines."""
        return max(value for line in self.lines for _, value in line.values)

    @property
    def top(self) -> float:
        """Where the axis ends: what is measured in percent is drawn out of all, and a flat zero has room above it."""
        return FULL_PERCENT if self.panel.unit == "percent" else self.high or 1.0


def happened(finding: Finding) -> tuple[Point, ...]:
    """Return the points that are no measured values: what struck whom."""
    measured = {outcome for panel in finding.panels for outcome in (panel.id, *panel.marks)}
    return tuple(point for point in finding.points if point.outcome not in measured)


def drawn(finding: Finding, at_most: int) -> tuple[Drawn, ...]:
    """Return the panels of which the capture holds values, in the card's order."""
    chosen = (_drawn(panel, finding.points, at_most) for panel in finding.panels)
    return tuple(each for each in chosen if each.lines)


def _drawn(panel: Panel, points: Sequence[Point], at_most: int) -> Drawn:
    by_subject: dict[str, list[Value]] = {}
    for point in points:
        if point.outcome == panel.id and point.value is not None:
            by_subject.setdefault(point.subject, []).append((point.at, point.value))
    lines = [Line(subject, tuple(sorted(values))) for subject, values in by_subject.items()]
    highest_first = sorted(lines, key=lambda line: (-max(value for _, value in line.values), line.subject))
    marks = _within(_marks(panel, points), lines)
    return Drawn(panel, tuple(highest_first[:at_most]), max(len(lines) - at_most, 0), marks)


def _within(marks: Sequence[Mark], lines: Sequence[Line]) -> tuple[Mark, ...]:
    """Leave out what happened before the first value or after the last."""
    times = [time for line in lines for time, _ in line.values]
    return tuple(mark for mark in marks if times and mark.at >= min(times) and mark.since <= max(times))


def _marks(panel: Panel, points: Sequence[Point]) -> tuple[Mark, ...]:
    """Gather what is to be marked, in order of time; the same thing at nearly the same time is marked once."""
    found = sorted(
        (Mark(point.outcome, point.since or point.at, point.at) for point in points if point.outcome in panel.marks),
        key=lambda mark: (mark.since, mark.says),
    )
    last: dict[str, datetime] = {}
    kept = []
    for mark in found:
        if mark.says not in last or (mark.since - last[mark.says]).total_seconds() > APART_SECONDS:
            kept.append(mark)
            last[mark.says] = mark.since
    return tuple(kept[:MOST_MARKS])


def written(value: float, unit: str) -> str:
    """Write a value in a panel's unit."""
    if unit == "bytes":
        return size(value)
    return f"{value:.0f} %" if unit == "percent" else count(round(value, 1))


def _marked(chosen: Drawn) -> str:
    """Say what is marked, for those who cannot see it."""
    lasting = [
        f"{mark.says} {duration((mark.at - mark.since).total_seconds())}"
        for mark in chosen.marks
        if mark.at > mark.since
    ]
    moments = dict.fromkeys(mark.says for mark in chosen.marks if mark.at == mark.since)
    return "".join(f"; {each}" for each in (*lasting, *moments))


def caption(chosen: Drawn) -> str:
    """Say in words what the lines do."""
    unit, low, high = chosen.panel.unit, chosen.low, chosen.high
    times = [time for line in chosen.lines for time, _ in line.values]
    when = f"{span(min(times), max(times))}{_marked(chosen)}"
    if written(low, unit) == written(high, unit):
        return f"{written(low, unit)} all the time, {when}."
    if len(chosen.lines) > 1:
        return f"Between {written(low, unit)} and {written(high, unit)}, {when}."
    values = [value for _, value in chosen.lines[0].values]
    ends = f"From {written(values[0], unit)} to {written(values[-1], unit)}"
    extremes = f" (lowest {written(low, unit)}, highest {written(high, unit)})"
    return f"{ends}{'' if {low, high} <= {values[0], values[-1]} else extremes}, {when}."
