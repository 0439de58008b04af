"""Selects the data of a finding's panels: measured values over time, from the diagnosed capture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leadsman.words import count, duration, size, span

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leadsman.model import Finding, Panel, Point

FULL_PERCENT = 100.0

MARK_DISTANCE_SECONDS = 1.0
"""Marks with the same label that are closer would be drawn over each other."""

MAX_MARKS = 24

Value = tuple["datetime", float]


@dataclass(frozen=True, slots=True)
class PanelLine:
    """The values of one subject, in order of time."""

    subject: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class PanelMark:
    """An event in the time of the panel; an instant where `since` equals `at`."""

    label: str
    since: datetime
    at: datetime


@dataclass(frozen=True, slots=True)
class PanelData:
    """A panel with its lines, the highest first, the number of omitted lines, and its marks."""

    panel: Panel
    lines: tuple[PanelLine, ...]
    omitted: int
    marks: tuple[PanelMark, ...] = ()

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
        """The upper end of the axis: 100 for percent, 1 where all values are zero."""
        return FULL_PERCENT if self.panel.unit == "percent" else self.high or 1.0


def event_points(finding: Finding) -> tuple[Point, ...]:
    """Return the points that are events and no measured values."""
    measured = {outcome for panel in finding.panels for outcome in (panel.id, *panel.marks)}
    return tuple(point for point in finding.points if point.outcome not in measured)


def select_panels(finding: Finding, at_most: int) -> tuple[PanelData, ...]:
    """Return the panels of which the capture holds values, in the card's order."""
    panels = (_select_panel(panel, finding.points, at_most) for panel in finding.panels)
    return tuple(each for each in panels if each.lines)


def _select_panel(panel: Panel, points: Sequence[Point], at_most: int) -> PanelData:
    by_subject: dict[str, list[Value]] = {}
    for point in points:
        if point.outcome == panel.id and point.value is not None:
            by_subject.setdefault(point.subject, []).append((point.at, point.value))
    lines = [PanelLine(subject, tuple(sorted(values))) for subject, values in by_subject.items()]
    highest_first = sorted(lines, key=lambda line: (-max(value for _, value in line.values), line.subject))
    marks = _within(_marks(panel, points), lines)
    return PanelData(panel, tuple(highest_first[:at_most]), max(len(lines) - at_most, 0), marks)


def _within(marks: Sequence[PanelMark], lines: Sequence[PanelLine]) -> tuple[PanelMark, ...]:
    """Return the marks between the first and the last value."""
    times = [time for line in lines for time, _ in line.values]
    return tuple(mark for mark in marks if times and mark.at >= min(times) and mark.since <= max(times))


def _marks(panel: Panel, points: Sequence[Point]) -> tuple[PanelMark, ...]:
    """Return the marks in order of time; equal labels at nearly the same time are one mark."""
    candidates = sorted(
        (
            PanelMark(point.outcome, point.since or point.at, point.at)
            for point in points
            if point.outcome in panel.marks
        ),
        key=lambda mark: (mark.since, mark.label),
    )
    last: dict[str, datetime] = {}
    marks = []
    for mark in candidates:
        if mark.label not in last or (mark.since - last[mark.label]).total_seconds() > MARK_DISTANCE_SECONDS:
            marks.append(mark)
            last[mark.label] = mark.since
    return tuple(marks[:MAX_MARKS])


def value_text(value: float, unit: str) -> str:
    """Return a value in a panel's unit."""
    if unit == "bytes":
        return size(value)
    return f"{value:.0f} %" if unit == "percent" else count(round(value, 1))


def _marks_text(data: PanelData) -> str:
    """Return the marks as text, for readers who cannot see them."""
    lasting = [
        f"{mark.label} {duration((mark.at - mark.since).total_seconds())}"
        for mark in data.marks
        if mark.at > mark.since
    ]
    moments = dict.fromkeys(mark.label for mark in data.marks if mark.at == mark.since)
    return "".join(f"; {each}" for each in (*lasting, *moments))


def caption(data: PanelData) -> str:
    """Describe the lines in words."""
    unit, low, high = data.panel.unit, data.low, data.high
    times = [time for line in data.lines for time, _ in line.values]
    time_range = f"{span(min(times), max(times))}{_marks_text(data)}"
    if value_text(low, unit) == value_text(high, unit):
        return f"{value_text(low, unit)} all the time, {time_range}."
    if len(data.lines) > 1:
        return f"Between {value_text(low, unit)} and {value_text(high, unit)}, {time_range}."
    values = [value for _, value in data.lines[0].values]
    ends = f"From {value_text(values[0], unit)} to {value_text(values[-1], unit)}"
    extremes = f" (lowest {value_text(low, unit)}, highest {value_text(high, unit)})"
    return f"{ends}{'' if {low, high} <= {values[0], values[-1]} else extremes}, {time_range}."
