"""Draws the charts of the page as SVG with the page's colours and a title for screen readers.

matplotlib knows no CSS variables, so each colour is drawn as a stand-in hex value, which `svg.py` replaces by the
page's variable. The same input gives the same bytes. Import this module only when a page is made: matplotlib is slow
to import.
"""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from io import BytesIO
from math import ceil, floor, log
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, NullLocator

from leadsman.report.charts.panels import value_text
from leadsman.report.charts.selection import is_harmful
from leadsman.report.charts.svg import COLOURS, page_svg
from leadsman.report.text.escaping import escape_control_characters
from leadsman.words import DAY, MINUTE, duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

    from leadsman.report.charts.panels import PanelData, PanelLine, PanelMark
    from leadsman.report.charts.selection import Gaps, Lane, Span, Timeline

SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: it can be searched, and takes the page's font
    "svg.hashsalt": "leadsman",  # else the ids differ from run to run
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.edgecolor": COLOURS["grid"],
    "axes.labelcolor": COLOURS["soft"],
    "text.color": COLOURS["ink"],
    "xtick.color": COLOURS["grid"],
    "xtick.labelcolor": COLOURS["soft"],
    "ytick.color": COLOURS["grid"],
    "ytick.labelcolor": COLOURS["soft"],
}
WIDTH = 9.0
"""Inches of 72 units: the drawing is 648 units wide, close to the pixels it gets, so that its text has its own size."""

NAME_LENGTH = 84
TICKS = (0.001, 0.01, 0.1, 1, 10, 60, 300, 900, 3_600, 21_600, 86_400, 604_800, 2_592_000)
FINER_TICKS = tuple(digit * 10.0**power for power in range(-3, 8) for digit in (1, 2, 3, 5, 7))
"""For a range that holds fewer than three of the others."""

MIN_TICKS = 3
TICK_MARGIN = 0.03
"""Share of the axis of lengths at each end that has no tick: its label would be cut."""

TIME_STEPS = (
    1,
    2,
    5,
    10,
    30,
    60,
    120,
    300,
    600,
    1_800,
    3_600,
    7_200,
    14_400,
    28_800,
    DAY,
    2 * DAY,
    7 * DAY,
    28 * DAY,
    365 * DAY,
)
MAX_TICKS = 8
LINE_STYLES = ("solid", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))
"""Lines of one panel have one colour and different styles, also for readers who see no colours."""

WIDE_PANEL_HEIGHT = 2.6
PANEL_WIDTH, PANEL_HEIGHT, PANEL_TICKS = 4.4, 1.7, 4
"""Two panels fit beside each other on the page."""

MARKED_VALUES_LIMIT = 40
"""Up to so many values of a line are drawn with markers: the markers show the interval of measurement."""

SMALL_MARKS_FROM = 150
"""From so many harmless gaps on, their marks are small, so that they do not overlap to one blot."""

GOLDEN_RATIO = 0.618034
"""Its multiples modulo 1 spread points evenly: a jitter that is the same every time."""


def timeline_svg(timeline: Timeline, *, prefix: str, title: str, description: str) -> str:
    """Draw one lane for each subject: active spans, idle gaps, and failures."""
    rows = len(timeline.lanes)
    with mpl.rc_context(SETTINGS):
        figure, axes = canvas(0.42 * rows + 0.5, bottom=0.4)
        for row, lane in enumerate(timeline.lanes):
            _draw_lane(axes, lane, rows - 1 - row)
        axes.set_ylim(-0.6, rows - 0.25)
        _time_axis(axes, timeline.since.timestamp(), timeline.until.timestamp())
        return page_svg(figure_svg(figure), prefix=prefix, title=title, description=description)


def gaps_svg(gaps: Gaps, *, prefix: str, title: str, description: str) -> str:
    """Draw the length of each gap on a log axis against its outcome, with the inferred limit."""
    legend_rows = len(gaps.idle_limits) + (1 if gaps.limit_high or gaps.limit_low else 0)
    with mpl.rc_context(SETTINGS):
        figure, axes = canvas(1.75 + 0.19 * legend_rows, bottom=0.5)
        top = 2.1 + 0.32 * legend_rows
        _draw_inferred_limit(axes, gaps, top)
        for row, hop in enumerate(gaps.idle_limits):
            _draw_idle_limit(axes, hop, 2.2 + 0.32 * row, gaps)
        _draw_outcomes(axes, gaps)
        axes.set_ylim(-0.15, top)
        _gap_axis(axes, gaps)
        return page_svg(figure_svg(figure), prefix=prefix, title=title, description=description)


def panel_svg(data: PanelData, *, prefix: str, title: str, description: str) -> str:
    """Draw a panel as on a dashboard: lines over time, from zero."""
    with mpl.rc_context(SETTINGS):
        wide = data.panel.wide
        size = (WIDE_PANEL_HEIGHT, WIDTH) if wide else (PANEL_HEIGHT, PANEL_WIDTH)
        figure, axes = canvas(size[0], bottom=0.4, width=size[1])
        times = [time.timestamp() for line in data.lines for time, _ in line.values]
        for value in (0.0, data.top):
            axes.axhline(value, color=COLOURS["grid"], linewidth=0.8, zorder=1)
            text = value_text(value, data.panel.unit)
            axes.text(0, value + 0.03 * data.top, text, transform=axes.get_yaxis_transform(), fontsize=8, zorder=5)
        for mark in data.marks:
            _draw_mark(axes, mark, data.top, (min(times), max(times)))
        for number, line in enumerate(data.lines):
            _draw_values(
                axes,
                line,
                colour="calm" if data.panel.is_standard else "bad",
                style=LINE_STYLES[number % len(LINE_STYLES)],
            )
        if wide and len(data.lines) > 1:
            _name_lines(axes, data)
        axes.set_ylim(-0.06 * data.top, (1.45 if data.marks else 1.22) * data.top)
        _time_axis(axes, min(times), max(times), most=MAX_TICKS if wide else PANEL_TICKS)
        return page_svg(figure_svg(figure), prefix=prefix, title=title, description=description)


def _draw_mark(axes: Axes, mark: PanelMark, top: float, reach: tuple[float, float]) -> None:
    """Draw a band with its length, or a line for an instant; the label stands above the values."""
    since, until = mark.since.timestamp(), mark.at.timestamp()
    if until > since:
        axes.axvspan(since, until, facecolor=COLOURS["limit-band"], edgecolor="none", zorder=0)
        text, height = f"{mark.label} {duration(until - since)}", 1.34
    else:
        axes.axvline(since, color=COLOURS["soft"], linewidth=1, linestyle=(0, (3, 3)), zorder=1)
        text, height = mark.label, 1.2
    point = (since, height * top)
    look: dict[str, Any] = {"fontsize": 8, "color": COLOURS["limit" if until > since else "soft"], "parse_math": False}
    at_the_end = since > reach[0] + 0.8 * (reach[1] - reach[0])
    look |= {"xytext": (-3 if at_the_end else 3, 0), "ha": "right" if at_the_end else "left"}
    axes.annotate(text, point, textcoords="offset points", zorder=5, **look)


def _name_lines(axes: Axes, data: PanelData) -> None:
    """Write each line's name at its end; names of close ends are moved apart."""
    ends = sorted(((line.values[-1], line.subject) for line in data.lines), key=lambda end: (end[0][1], end[1]))
    lowest = -1.0
    for (time, value), subject in ends:
        lowest = max(value, lowest + 0.14 * data.top)
        point = (time.timestamp(), lowest)
        axes.annotate(
            escape_control_characters(subject),
            point,
            xytext=(-4, 4),
            textcoords="offset points",
            fontsize=8,
            ha="right",
            zorder=6,
            parse_math=False,
        )


def _draw_values(axes: Axes, line: PanelLine, *, colour: str, style: Any) -> None:  # noqa: ANN401 - matplotlib's own
    axes.plot(
        [time.timestamp() for time, _ in line.values],
        [value for _, value in line.values],
        color=COLOURS[colour],
        linewidth=1.8,
        linestyle=style,
        marker="o" if len(line.values) <= MARKED_VALUES_LIMIT else "",
        markersize=3.5,
        zorder=3,
    )


def canvas(height: float, *, bottom: float, width: float = WIDTH) -> tuple[Figure, Axes]:
    """Return an empty drawing of this height in inches, with room for an axis at the bottom."""
    figure = Figure(figsize=(width, height), facecolor="none")
    axes = figure.add_axes((0.012, bottom / height, 0.976, 1 - (bottom + 0.04) / height), facecolor="none")
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)
    axes.set_yticks([])
    return figure, axes


def _draw_lane(axes: Axes, lane: Lane, y: int) -> None:
    name = escape_control_characters(lane.subject)
    label = name if len(name) <= NAME_LENGTH else f"…{name[1 - NAME_LENGTH :]}"
    axes.text(0, y + 0.22, label, transform=axes.get_yaxis_transform(), fontsize=8.5, parse_math=False)
    axes.axhline(y, color=COLOURS["grid"], linewidth=1, zorder=1)
    _bars(axes, lane.active, y, ("active", 6))
    _bars(axes, lane.harmed_gaps, y, ("bad", 1.6))
    for times, marker, colour in ((lane.recovery_times, "o", "calm"), (lane.harm_times, "X", "bad")):
        axes.plot(
            [time.timestamp() for time in times],
            [y] * len(times),
            linestyle="none",
            marker=marker,
            markersize=8,
            markerfacecolor=COLOURS[colour],
            markeredgecolor=COLOURS["panel"],
            markeredgewidth=0.8,
            zorder=4,
        )


def _bars(axes: Axes, spans: Sequence[Span], y: int, look: tuple[str, float]) -> None:
    """Draw all spans as one path with gaps: one path for each span would make the page ten times larger."""
    colour, width = look
    xs = [x for since, until in spans for x in (since.timestamp(), until.timestamp(), float("nan"))]
    axes.plot(xs, [y] * len(xs), color=COLOURS[colour], linewidth=width, solid_capstyle="butt", zorder=3)


def _time_axis(axes: Axes, since: float, until: float, *, most: int = MAX_TICKS) -> None:
    step = next((step for step in TIME_STEPS if (until - since) / step <= most), TIME_STEPS[-1])
    margin = max((until - since) * 0.012, 0.5)
    ticks = [n * step for n in range(ceil(since / step), floor((until - 4 * margin) / step) + 1)]
    with_room = [tick for tick in ticks if tick - since > 3 * margin]  # further left a date would be cut
    ticks = with_room if len(with_room) >= MIN_TICKS else ticks
    dated = {*with_room[:1], *(tick for tick in with_room if tick % DAY == 0)}
    axes.set_xlim(since - margin, until + margin)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FixedFormatter([_time_label(tick, step, tick in dated) for tick in ticks]))


def _time_label(seconds: float, step: int, dated: bool) -> str:  # noqa: FBT001 - few ticks name their day
    time = datetime.fromtimestamp(seconds, UTC)
    if step >= DAY:
        return f"{time:%Y-%m-%d}"
    of_day = f"{time:%H:%M:%S}" if step < MINUTE else f"{time:%H:%M}"
    return f"{of_day}\n{time:%Y-%m-%d}" if dated else of_day


def _draw_inferred_limit(axes: Axes, gaps: Gaps, top: float) -> None:
    edges = [edge for edge in (gaps.limit_low, gaps.limit_high) if edge is not None]
    if not edges:
        return
    height = (top - 0.28) / top
    axes.axvspan(edges[0], edges[-1], ymax=height, facecolor=COLOURS["limit-band"], edgecolor="none", zorder=1)
    for edge in edges:
        axes.axvline(edge, ymax=height, color=COLOURS["limit"], linewidth=1.2, zorder=2)
    if len(edges) > 1:
        text = f"idle limit between {duration(edges[0])} and {duration(edges[1])}"
    else:
        text = f"idle limit {'below' if gaps.limit_high else 'above'} {duration(edges[0])}"
    _label(axes, text, (edges[-1], top - 0.16), gaps).set(color=COLOURS["limit"], fontweight="bold")


def _draw_idle_limit(axes: Axes, hop: tuple[str, float], y: float, gaps: Gaps) -> None:
    name, seconds = hop
    axes.plot([seconds, seconds], [-0.15, y], color=COLOURS["soft"], linewidth=1, linestyle=(0, (3, 3)), zorder=2)
    label = f"{escape_control_characters(name)}: {duration(seconds)}"
    _label(axes, label, (seconds, y), gaps).set_color(COLOURS["soft"])


def _label(axes: Axes, text: str, point: tuple[float, float], gaps: Gaps) -> Annotation:
    """Write a label to the left of a vertical line if there is room: labels of later lines stand on the right."""
    low, high = _range(gaps)
    on_the_left = log(point[0] / low) > 0.3 * log(high / low)
    return axes.annotate(
        text,
        point,
        xytext=(-5 if on_the_left else 5, 0),
        textcoords="offset points",
        fontsize=8.5,
        ha="right" if on_the_left else "left",
        va="center",
        parse_math=False,
    )


def _draw_outcomes(axes: Axes, gaps: Gaps) -> None:
    for harmful, base, colour, marker in ((True, 1.2, "bad", "X"), (False, 0.1, "calm", "o")):
        lengths = [gap.seconds for gap in gaps.gaps if is_harmful(gap) is harmful]
        heights = [base + 0.75 * (n * GOLDEN_RATIO % 1) for n in range(len(lengths))]
        axes.plot(
            lengths,
            heights,
            linestyle="none",
            marker=marker,
            markersize=8 if harmful else 4 if len(lengths) > SMALL_MARKS_FROM else 6.5,
            markerfacecolor=COLOURS[colour],
            markeredgecolor=COLOURS["panel"],
            markeredgewidth=0.6,
            zorder=4,
        )


def _gap_axis(axes: Axes, gaps: Gaps) -> None:
    low, high = _range(gaps)
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    margin = (high / low) ** TICK_MARGIN
    round_lengths, finer = (
        [tick for tick in ticks if low * margin <= tick <= high / margin] for ticks in (TICKS, FINER_TICKS)
    )
    axes.xaxis.set_major_locator(FixedLocator(round_lengths if len(round_lengths) >= MIN_TICKS else finer))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: duration(seconds)))
    axes.set_xlabel("idle time (log scale)")


def _range(gaps: Gaps) -> tuple[float, float]:
    limits = [limit for limit in (gaps.limit_low, gaps.limit_high) if limit]
    marks = [gap.seconds for gap in gaps.gaps] + [seconds for _, seconds in gaps.idle_limits] + limits
    return min(marks) / 1.6, max(marks) * 1.6


def figure_svg(figure: Figure) -> bytes:
    """Return a figure as SVG, with stand-in colours."""
    out = BytesIO()
    with warnings.catch_warnings():
        # The browser has its own fonts: a glyph that matplotlib's font lacks does not matter.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()
