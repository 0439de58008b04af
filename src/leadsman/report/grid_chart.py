"""Draws a matrix as SVG, in the page's colours: a square a pair, named at its side and head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from leadsman.report.charts import SETTINGS, WIDTH, drawing
from leadsman.report.svg import COLOURS, dressed
from leadsman.report.visible import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from leadsman.model import Cell
    from leadsman.report.grid import Grid

ROW_INCHES = 0.34
SIDE = 0.3
"""Share of the width for the names of rows."""

NAME_LENGTH = 34
LETTERS_INCHES = 0.065
"""Width of a letter of 8 points (0.058 on average), to see which words fit into a square."""


def matrix_svg(chosen: Grid, *, prefix: str, title: str, description: str) -> str:
    """Draw it; a pair of which there is no data stays an empty frame."""
    rows, columns = len(chosen.rows), len(chosen.columns)
    wide = WIDTH * (0.985 - SIDE) / columns
    longest = max(len(_short(name)) for name in chosen.columns) * LETTERS_INCHES
    head = 0.35 if longest < wide else longest + 0.1
    height = rows * ROW_INCHES + head
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(WIDTH, height), facecolor="none")
        axes = figure.add_axes((SIDE, 0.0, 0.985 - SIDE, rows * ROW_INCHES / height), facecolor="none")
        axes.set_axis_off()
        axes.set_xlim(0, columns)
        axes.set_ylim(rows, 0)
        for row, cells in enumerate(chosen.cells):
            _draw_row(axes, row, chosen.rows[row], cells)
        for column, name in enumerate(chosen.columns):
            _write(axes, (column + 0.5, -0.2), _short(name), va="bottom", rotation=0 if longest < wide else 90)
        return dressed(drawing(figure), prefix=prefix, title=title, description=description)


def _draw_row(axes: Axes, row: int, name: str, cells: tuple[Cell | None, ...]) -> None:
    _write(axes, (-0.012 * len(cells), row + 0.5), _short(name), ha="right")
    wide = WIDTH * (0.985 - SIDE) / len(cells)
    for column, cell in enumerate(cells):
        ground, ink = ("panel", "ink") if cell is None else ("bad", "panel") if cell.trouble else ("active", "ink")
        place, size = (column + 0.02, row + 0.06), (0.96, 0.88)
        axes.add_patch(Rectangle(place, *size, facecolor=COLOURS[ground], edgecolor=COLOURS["grid"], linewidth=0.8))
        if cell is not None and len(cell.outcome) * LETTERS_INCHES < wide:
            _write(axes, (column + 0.5, row + 0.52), visible(cell.outcome), color=COLOURS[ink])


def _write(axes: Axes, place: tuple[float, float], text: str, **look: Any) -> None:  # noqa: ANN401 - matplotlib's own
    axes.text(*place, text, **{"ha": "center", "va": "center", "fontsize": 8, "parse_math": False, **look})


def _short(name: str) -> str:
    shown = visible(name)
    return shown if len(shown) <= NAME_LENGTH else f"…{shown[1 - NAME_LENGTH :]}"
