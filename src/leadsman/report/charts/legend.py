"""The legends of charts: an entry for each thing that a chart shows, and for nothing else."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from leadsman.report.charts.matrix import NO_DATA
from leadsman.report.charts.selection import HARMLESS_OUTCOMES, is_harmful
from leadsman.words import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from leadsman.model import ChartWords, Point
    from leadsman.report.charts.matrix import MatrixGrid
    from leadsman.report.charts.panels import PanelData
    from leadsman.report.charts.selection import Gaps, Timeline


STROKES = ("──", "- -", "····", "- ·")
"""Signs for the styles in which a panel draws its lines, in that order."""


class LegendEntry(NamedTuple):
    """The class of the page's style sheet, the sign, and its meaning."""

    style: str
    sign: str
    text: str


def timeline_legend(timeline: Timeline, words: ChartWords) -> tuple[LegendEntry, ...]:
    """Return the entries of a timeline: activity, spans of harm by outcome, then instants by outcome."""
    lanes = timeline.lanes
    active = [LegendEntry("k-active", "", "active")] if any(lane.active for lane in lanes) else []
    spans = {outcome for lane in lanes for outcome in lane.gap_outcomes}
    instants = _instant_counts(timeline)
    return tuple(
        active
        + [LegendEntry("k-idle", "", text) for text in _texts(spans, words.spans)]
        + [LegendEntry("k-bad", "✖", text) for text in _texts(instants.keys() - HARMLESS_OUTCOMES, words.instants)]
        + [LegendEntry("k-calm", "●", text) for text in _texts(instants.keys() & HARMLESS_OUTCOMES, words.instants)]
    )


def instants_text(timeline: Timeline, words: ChartWords) -> str:
    """Return how many instants of each outcome the timeline shows: `crashed (2), recovered (1)`."""
    counts = _instant_counts(timeline)
    ordered = sorted(counts, key=lambda outcome: (outcome in HARMLESS_OUTCOMES, outcome))
    return ", ".join(f"{outcome_text(outcome, words.instants)} ({count(counts[outcome])})" for outcome in ordered)


def gaps_legend(gaps: Gaps) -> tuple[LegendEntry, ...]:
    """Return the entries of a chart of idle gaps."""
    kinds = {is_harmful(gap) for gap in gaps.gaps}
    entries = (
        (True in kinds, LegendEntry("k-bad", "✖", "idle gap before a failure")),
        (False in kinds, LegendEntry("k-calm", "●", "idle gap without a failure")),
        (bool(gaps.limit_low and gaps.limit_high), LegendEntry("k-band", "", "the idle limit lies in this range")),
        (bool(gaps.idle_limits), LegendEntry("k-limit", "", "configured or known idle limit")),
    )
    return tuple(entry for is_shown, entry in entries if is_shown)


def panel_legend(data: PanelData) -> tuple[LegendEntry, ...]:
    """Return the entries of a panel: its lines, where several have no names in the drawing."""
    if data.panel.wide or not 1 < len(data.lines) <= len(STROKES):
        return ()
    style = "k-calm" if data.panel.is_standard else "k-bad"
    return tuple(LegendEntry(style, stroke, line.subject) for stroke, line in zip(STROKES, data.lines, strict=False))


def matrix_legend(grid: MatrixGrid) -> tuple[LegendEntry, ...]:
    """Return the entries of a matrix."""
    cells = [cell for row in grid.cells for cell in row]
    entries = (
        (any(cell and cell.is_harm for cell in cells), LegendEntry("k-bad", "■", "failure")),
        (any(cell and not cell.is_harm for cell in cells), LegendEntry("k-fine", "■", "no failure")),
        (None in cells, LegendEntry("", "□", NO_DATA)),
    )
    return tuple(entry for is_shown, entry in entries if is_shown)


def outcome_text(outcome: str, texts: Mapping[str, str]) -> str:
    """Return the card's words for an outcome, else the outcome itself."""
    return texts.get(outcome, outcome.replace("_", " "))


def point_text(point: Point, words: ChartWords) -> str:
    """Return the words for the outcome of a point."""
    return outcome_text(point.outcome, words.instants if point.since is None else words.spans)


def _instant_counts(timeline: Timeline) -> Counter[str]:
    return Counter(outcome for lane in timeline.lanes for _, outcome in lane.instants)


def _texts(outcomes: Iterable[str], texts: Mapping[str, str]) -> list[str]:
    return list(dict.fromkeys(outcome_text(outcome, texts) for outcome in sorted(outcomes)))
