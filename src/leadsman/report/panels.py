"""Chooses what the panels of a finding show: measured values over time, from the capture that was diagnosed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leadsman.words import count, size, span

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leadsman.model import Finding, Panel, Point

FULL_PERCENT = 100.0

Value = tuple["datetime", float]


@dataclass(frozen=True, slots=True)
class Line:
    """What one subject's value did: in order of time."""

    subject: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A panel with its lines, the highest first, and how many it has no room for."""

    panel: Panel
    lines: tuple[Line, ...]
    left_out: int

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
    measured = {panel.id for panel in finding.panels}
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
    return Drawn(panel, tuple(highest_first[:at_most]), max(len(lines) - at_most, 0))


def written(value: float, unit: str) -> str:
    """Write a value in a panel's unit."""
    if unit == "bytes":
        return size(value)
    return f"{value:.0f} %" if unit == "percent" else count(round(value, 1))


def caption(chosen: Drawn) -> str:
    """Say in words what the lines do."""
    unit, low, high = chosen.panel.unit, chosen.low, chosen.high
    times = [time for line in chosen.lines for time, _ in line.values]
    when = span(min(times), max(times))
    if written(low, unit) == written(high, unit):
        return f"{written(low, unit)} all the time, {when}."
    if len(chosen.lines) > 1:
        return f"Between {written(low, unit)} and {written(high, unit)}, {when}."
    values = [value for _, value in chosen.lines[0].values]
    ends = f"From {written(values[0], unit)} to {written(values[-1], unit)}"
    extremes = f" (lowest {written(low, unit)}, highest {written(high, unit)})"
    return f"{ends}{'' if {low, high} <= {values[0], values[-1]} else extremes}, {when}."
