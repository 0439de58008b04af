"""Draws the charts of the page as SVG that takes its colours from the page and names itself to a screen reader.

matplotlib knows nothing of CSS, so each colour is drawn as a stand-in hex value and replaced by the page's variable.
The same input gives the same bytes. Import this module only when a page is made: matplotlib takes its time.
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

from leadsman.report.exhibits import is_trouble
from leadsman.report.panels import written
from leadsman.report.svg import COLOURS, dressed
from leadsman.report.visible import visible
from leadsman.words import DAY, MINUTE, duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

    from leadsman.report.exhibits import Gaps, Lane, Span, Timeline
    from leadsman.report.panels import Drawn, Line, Mark

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

FEWEST_TICKS = 3
STEPS = (
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
MOST_TICKS = 8
STYLES = ("solid", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))
"""Lines of one panel are of one colour; these tell them apart, also for those who see no colours."""

WIDE_PANEL_HEIGHT = 2.6
PANEL_WIDTH, PANEL_HEIGHT, PANEL_TICKS = 4.4, 1.7, 4
"""Two panels stand beside each other on the page."""

FEW_VALUES = 40
"""Up to so many values of a line are marked: they show how often was looked."""

MANY = 150
"""Beyond so many harmless gaps their marks are small, not to become one blot."""

GOLDEN = 0.618034
"""Multiples of it, without their whole part, spread points evenly: a jitter that is the same every time."""


def timeline_svg(timeline: Timeline, *, prefix: str, title: str, description: str) -> str:
    """Draw one lane for each subject: active stretches, quiet gaps, and where trouble struck."""
    rows = len(timeline.lanes)
    with mpl.rc_context(SETTINGS):
        figure, axes = canvas(0.42 * rows + 0.5, bottom=0.4)
        for row, lane in enumerate(timeline.lanes):
            _draw_lane(axes, lane, rows - 1 - row)
        axes.set_ylim(-0.6, rows - 0.25)
        _time_axis(axes, timeline.since.timestamp(), timeline.until.timestamp())
        return dressed(drawing(figure), prefix=prefix, title=title, description=description)


def gaps_svg(gaps: Gaps, *, prefix: str, title: str, description: str) -> str:
    """Draw the length of each gap on a log axis against how it ended, with the limit between the two."""
    head = len(gaps.hops) + (1 if gaps.limit_high or gaps.limit_low else 0)
    with mpl.rc_context(SETTINGS):
        figure, axes = canvas(1.75 + 0.19 * head, bottom=0.5)
        top = 2.1 + 0.32 * head
        _draw_limit(axes, gaps, top)
        for row, hop in enumerate(gaps.hops):
            _draw_hop(axes, hop, 2.2 + 0.32 * row, gaps)
        _draw_outcomes(axes, gaps)
        axes.set_ylim(-0.15, top)
        _gap_axis(axes, gaps)
        return dressed(drawing(figure), prefix=prefix, title=title, description=description)


def panel_svg(drawn: Drawn, *, prefix: str, title: str, description: str) -> str:
    """Draw a panel as a dashboard has it: its lines over time, from zero."""
    with mpl.rc_context(SETTINGS):
        wide = drawn.panel.wide
        size = (WIDE_PANEL_HEIGHT, WIDTH) if wide else (PANEL_HEIGHT, PANEL_WIDTH)
        figure, axes = canvas(size[0], bottom=0.4, width=size[1])
        times = [time.timestamp() for line in drawn.lines for time, _ in line.values]
        for value in (0.0, drawn.top):
            axes.axhline(value, color=COLOURS["grid"], linewidth=0.8, zorder=1)
            said = written(value, drawn.panel.unit)
            axes.text(0, value + 0.03 * drawn.top, said, transform=axes.get_yaxis_transform(), fontsize=8, zorder=5)
        for mark in drawn.marks:
            _draw_mark(axes, mark, drawn.top, (min(times), max(times)))
        for number, line in enumerate(drawn.lines):
            _draw_values(axes, line, colour="calm" if drawn.panel.had else "bad", style=STYLES[number % len(STYLES)])
        if wide and len(drawn.lines) > 1:
            _name_lines(axes, drawn)
        axes.set_ylim(-0.06 * drawn.top, (1.45 if drawn.marks else 1.22) * drawn.top)
        _time_axis(axes, min(times), max(times), most=MOST_TICKS if wide else PANEL_TICKS)
        return dressed(drawing(figure), prefix=prefix, title=title, description=description)


def _draw_mark(axes: Axes, mark: Mark, top: float, reach: tuple[float, float]) -> None:
    """Draw a band with its length where it lasts, else a line; its name stands above the values."""
    since, until = mark.since.timestamp(), mark.at.timestamp()
    if until > since:
        axes.axvspan(since, until, facecolor=COLOURS["limit-band"], edgecolor="none", zorder=0)
        said, height = f"{mark.says} {duration(until - since)}", 1.34
    else:
        axes.axvline(since, color=COLOURS["soft"], linewidth=1, linestyle=(0, (3, 3)), zorder=1)
        said, height = mark.says, 1.2
    place = (since, height * top)
    look: dict[str, Any] = {"fontsize": 8, "color": COLOURS["limit" if until > since else "soft"], "parse_math": False}
    at_the_end = since > reach[0] + 0.8 * (reach[1] - reach[0])
    look |= {"xytext": (-3 if at_the_end else 3, 0), "ha": "right" if at_the_end else "left"}
    axes.annotate(said, place, textcoords="offset points", zorder=5, **look)


def _name_lines(axes: Axes, drawn: Drawn) -> None:
    """Write each line's name at its end, those of ends that lie close below each other."""
    ends = sorted(((line.values[-1], line.subject) for line in drawn.lines), key=lambda end: (end[0][1], end[1]))
    lowest = -1.0
    for (time, value), subject in ends:
        lowest = max(value, lowest + 0.14 * drawn.top)
        place = (time.timestamp(), lowest)
        axes.annotate(
            visible(subject),
            place,
            xytext=(-4, 4),
            textcoords="offset points",
            fontsize=8,
            ha="right",
            zorder=6,
            parse_math=False,
        )


def _draw_values(axes: Axes, line: Line, *, colour: str, style: Any) -> None:  # noqa: ANN401 - matplotlib's own
    axes.plot(
        [time.timestamp() for time, _ in line.values],
        [value for _, value in line.values],
        color=COLOURS[colour],
        linewidth=1.8,
        linestyle=style,
        marker="o" if len(line.values) <= FEW_VALUES else "",
        markersize=3.5,
        zorder=3,
    )


def canvas(height: float, *, bottom: float, width: float = WIDTH) -> tuple[Figure, Axes]:
    """Return an empty drawing so many inches high, with room at the bottom for an axis."""
    figure = Figure(figsize=(width, height), facecolor="none")
    axes = figure.add_axes((0.012, bottom / height, 0.976, 1 - (bottom + 0.04) / height), facecolor="none")
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)
    axes.set_yticks([])
    return figure, axes


def _draw_lane(axes: Axes, lane: Lane, y: int) -> None:
    name = visible(lane.subject)
    shown = name if len(name) <= NAME_LENGTH else f"…{name[1 - NAME_LENGTH :]}"
    axes.text(0, y + 0.22, shown, transform=axes.get_yaxis_transform(), fontsize=8.5, parse_math=False)
    axes.axhline(y, color=COLOURS["grid"], linewidth=1, zorder=1)
    _bars(axes, lane.active, y, ("active", 6))
    _bars(axes, lane.troubled, y, ("bad", 1.6))
    axes.plot(
        [time.timestamp() for time in lane.troubles],
        [y] * len(lane.troubles),
        linestyle="none",
        marker="X",
        markersize=8,
        markerfacecolor=COLOURS["bad"],
        markeredgecolor=COLOURS["panel"],
        markeredgewidth=0.8,
        zorder=4,
    )


def _bars(axes: Axes, spans: Sequence[Span], y: int, look: tuple[str, float]) -> None:
    """Draw all spans as one path, its pieces parted by nothing: a path each would make the page ten times larger."""
    colour, width = look
    xs = [x for since, until in spans for x in (since.timestamp(), until.timestamp(), float("nan"))]
    axes.plot(xs, [y] * len(xs), color=COLOURS[colour], linewidth=width, solid_capstyle="butt", zorder=3)


def _time_axis(axes: Axes, since: float, until: float, *, most: int = MOST_TICKS) -> None:
    step = next((step for step in STEPS if (until - since) / step <= most), STEPS[-1])
    margin = max((until - since) * 0.012, 0.5)
    ticks = [n * step for n in range(ceil(since / step), floor((until - 4 * margin) / step) + 1)]
    with_room = [tick for tick in ticks if tick - since > 3 * margin]  # further left a date would be cut
    ticks = with_room if len(with_room) >= FEWEST_TICKS else ticks
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


def _draw_limit(axes: Axes, gaps: Gaps, top: float) -> None:
    edges = [edge for edge in (gaps.limit_low, gaps.limit_high) if edge is not None]
    if not edges:
        return
    height = (top - 0.28) / top
    axes.axvspan(edges[0], edges[-1], ymax=height, facecolor=COLOURS["limit-band"], edgecolor="none", zorder=1)
    for edge in edges:
        axes.axvline(edge, ymax=height, color=COLOURS["limit"], linewidth=1.2, zorder=2)
    if len(edges) > 1:
        said = f"limit between {duration(edges[0])} and {duration(edges[1])}"
    else:
        said = f"limit below {duration(edges[0])}" if gaps.limit_high else f"limit above {duration(edges[0])}"
    _label(axes, said, (edges[-1], top - 0.16), gaps).set(color=COLOURS["limit"], fontweight="bold")


def _draw_hop(axes: Axes, hop: tuple[str, float], y: float, gaps: Gaps) -> None:
    name, seconds = hop
    axes.plot([seconds, seconds], [-0.15, y], color=COLOURS["soft"], linewidth=1, linestyle=(0, (3, 3)), zorder=2)
    _label(axes, f"{visible(name)} {duration(seconds)}", (seconds, y), gaps).set_color(COLOURS["soft"])


def _label(axes: Axes, text: str, place: tuple[float, float], gaps: Gaps) -> Annotation:
    """Write to the left of a vertical line, where the names of the lines after it do not stand, if there is room."""
    low, high = _range(gaps)
    on_the_left = log(place[0] / low) > 0.3 * log(high / low)
    return axes.annotate(
        text,
        place,
        xytext=(-5 if on_the_left else 5, 0),
        textcoords="offset points",
        fontsize=8.5,
        ha="right" if on_the_left else "left",
        va="center",
        parse_math=False,
    )


def _draw_outcomes(axes: Axes, gaps: Gaps) -> None:
    for trouble, base, colour, marker in ((True, 1.2, "bad", "X"), (False, 0.1, "calm", "o")):
        lengths = [gap.seconds for gap in gaps.gaps if is_trouble(gap) is trouble]
        heights = [base + 0.75 * (n * GOLDEN % 1) for n in range(len(lengths))]
        axes.plot(
            lengths,
            heights,
            linestyle="none",
            marker=marker,
            markersize=8 if trouble else 4 if len(lengths) > MANY else 6.5,
            markerfacecolor=COLOURS[colour],
            markeredgecolor=COLOURS["panel"],
            markeredgewidth=0.6,
            zorder=4,
        )


def _gap_axis(axes: Axes, gaps: Gaps) -> None:
    low, high = _range(gaps)
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    round_lengths, finer = ([tick for tick in ticks if low <= tick <= high] for ticks in (TICKS, FINER_TICKS))
    axes.xaxis.set_major_locator(FixedLocator(round_lengths if len(round_lengths) >= FEWEST_TICKS else finer))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: duration(seconds)))
    axes.set_xlabel("quiet for so long (log scale)")


def _range(gaps: Gaps) -> tuple[float, float]:
    limits = [limit for limit in (gaps.limit_low, gaps.limit_high) if limit]
    marks = [gap.seconds for gap in gaps.gaps] + [seconds for _, seconds in gaps.hops] + limits
    return min(marks) / 1.6, max(marks) * 1.6


def drawing(figure: Figure) -> bytes:
    """Return a figure as SVG, still in stand-in colours."""
    out = BytesIO()
    with warnings.catch_warnings():
        # The browser has its own fonts; that matplotlib's lacks a glyph of somebody's worker name matters to nobody.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()
