"""The charts of a finding on the page, each with its caption. A chart is None where the finding has no data for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leadsman.report.charts import legend, matrix, panels, selection
from leadsman.report.text.escaping import escape_control_characters
from leadsman.words import count, duration, span

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leadsman.model import Finding
    from leadsman.report.charts.legend import LegendEntry
    from leadsman.report.page.detail import Detail


SHORTEST_TIMELINE = timedelta(seconds=1)
"""A shorter time has no tick on the axis."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing, its caption, the number of things that the drawing leaves out, and its legend."""

    svg: str
    caption: str
    omitted: int
    legend: tuple[LegendEntry, ...] = ()


def timeline_chart(finding: Finding, prefix: str, *, detail: Detail) -> Chart | None:
    """Draw when the subjects of a finding were active, idle and harmed; None where all was at one moment."""
    words = finding.chart_words
    timeline = selection.select_timeline(panels.event_points(finding), detail.subjects, words)
    if timeline is None or timeline.until - timeline.since < SHORTEST_TIMELINE:
        return None
    from leadsman.report.charts import drawings  # matplotlib is slow to import and only a page needs it

    lanes, instants = count(len(timeline.lanes), "subject subjects"), legend.instants_text(timeline, words)
    shown = escape_control_characters(f": {instants}") if instants else ""
    caption = f"{lanes}, {span(timeline.since, timeline.until)}{shown}."
    svg = drawings.timeline_svg(timeline, prefix=prefix, title=f"Timeline of {finding.mode}", description=caption)
    return Chart(svg, caption, timeline.omitted, legend.timeline_legend(timeline, words))


def gaps_chart(finding: Finding, prefix: str, *, detail: Detail) -> Chart | None:
    """Draw idle gaps against their outcomes, with the inferred limit."""
    points, words = panels.event_points(finding), finding.chart_words
    gaps = selection.select_gaps(points, finding.figures, detail.marks_per_chart, words)
    if gaps is None:
        return None
    from leadsman.report.charts import drawings  # matplotlib is slow to import and only a page needs it

    caption = _gaps_caption(gaps)
    svg = drawings.gaps_svg(gaps, prefix=prefix, title=f"Idle gaps and outcomes of {finding.mode}", description=caption)
    return Chart(svg, caption, gaps.omitted, legend.gaps_legend(gaps))


def panel_charts(finding: Finding, prefix: str, *, detail: Detail) -> list[tuple[panels.PanelData, Chart]]:
    """Draw the panels of which the capture holds values."""
    selected = panels.select_panels(finding, detail.subjects)
    if not selected:
        return []
    from leadsman.report.charts import drawings  # matplotlib is slow to import and only a page needs it

    charts = []
    for number, each in enumerate(selected, start=1):
        caption = panels.caption(each)
        svg = drawings.panel_svg(each, prefix=f"{prefix}{number}", title=each.panel.title, description=caption)
        charts.append((each, Chart(svg, caption, each.omitted, legend.panel_legend(each))))
    return charts


def matrix_chart(finding: Finding, prefix: str, *, detail: Detail) -> Chart | None:
    """Draw the outcomes by pair."""
    if finding.matrix is None:
        return None
    from leadsman.report.charts import matrix_drawing  # matplotlib is slow to import

    grid = matrix.matrix_grid(finding.matrix, detail.subjects, detail.subjects)
    caption = escape_control_characters(f"Pairs by outcome: {matrix.outcome_counts(finding.matrix)}.")
    title = escape_control_characters(finding.matrix.axes.title)
    svg = matrix_drawing.matrix_svg(grid, prefix=prefix, title=title, description=caption)
    text = f"{caption} Not drawn: {grid.omitted}." if grid.omitted else caption
    return Chart(svg, text, 0, legend.matrix_legend(grid))


CHARTS: Mapping[str, Callable[..., Any]] = {
    "timeline": timeline_chart,
    "gaps": gaps_chart,
    "panels": panel_charts,
    "matrix": matrix_chart,
}
"""All charts of a finding, by the name that the templates use."""


def _gaps_caption(gaps: selection.Gaps) -> str:
    harmful = [gap.seconds for gap in gaps.gaps if selection.is_harmful(gap)]
    harmless = [gap.seconds for gap in gaps.gaps if not selection.is_harmful(gap)]
    parts = []
    if harmful:
        parts.append(f"The shortest idle gap before a failure lasted {duration(min(harmful))}")
    if harmless:
        parts.append(f"the longest idle gap without a failure lasted {duration(max(harmless))}")
    sentence = ", ".join(parts)
    return f"{sentence[:1].upper()}{sentence[1:]}."
