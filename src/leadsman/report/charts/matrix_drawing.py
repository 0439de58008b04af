"""Draws a matrix as SVG, in the page's colours: one square for each pair, with the names of rows and columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from leadsman.report.charts.drawings import SETTINGS, WIDTH, figure_svg
from leadsman.report.charts.svg import COLOURS, page_svg
from leadsman.report.text.escaping import escape_control_characters

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from leadsman.model import Cell
    from leadsman.report.charts.matrix import MatrixGrid

ROW_INCHES = 0.34
SIDE = 0.3
"""Share of the width for the names of rows."""

NAME_LENGTH = 34
LETTERS_INCHES = 0.065
"""Width of a letter of 8 points (0.058 on average), to see which words fit into a square."""


def matrix_svg(grid: MatrixGrid, *, prefix: str, title: str, description: str) -> str:
    """Draw the matrix; a pair without data is an empty frame."""
    rows, columns = len(grid.rows), len(grid.columns)
    wide = WIDTH * (0.985 - SIDE) / columns
    longest = max(len(_short_name(name)) for name in grid.columns) * LETTERS_INCHES
    header_inches = 0.35 if longest < wide else longest + 0.1
    height = rows * ROW_INCHES + header_inches
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(WIDTH, height), facecolor="none")
        axes = figure.add_axes((SIDE, 0.0, 0.985 - SIDE, rows * ROW_INCHES / height), facecolor="none")
        axes.set_axis_off()
        axes.set_xlim(0, columns)
        axes.set_ylim(rows, 0)
        for row, cells in enumerate(grid.cells):
            _draw_row(axes, row, grid.rows[row], cells)
        for column, name in enumerate(grid.columns):
            _write_text(
                axes, (column + 0.5, -0.2), _short_name(name), va="bottom", rotation=0 if longest < wide else 90
            )
        return page_svg(figure_svg(figure), prefix=prefix, title=title, description=description)


def _draw_row(axes: Axes, row: int, name: str, cells: tuple[Cell | None, ...]) -> None:
    _write_text(axes, (-0.012 * len(cells), row + 0.5), _short_name(name), ha="right")
    wide = WIDTH * (0.985 - SIDE) / len(cells)
    for column, cell in enumerate(cells):
        ground, ink = ("panel", "ink") if cell is None else ("bad", "panel") if cell.is_harm else ("active", "ink")
        corner, size = (column + 0.02, row + 0.06), (0.96, 0.88)
        axes.add_patch(Rectangle(corner, *size, facecolor=COLOURS[ground], edgecolor=COLOURS["grid"], linewidth=0.8))
        if cell is not None and len(cell.outcome) * LETTERS_INCHES < wide:
            _write_text(axes, (column + 0.5, row + 0.52), escape_control_characters(cell.outcome), color=COLOURS[ink])


def _write_text(axes: Axes, corner: tuple[float, float], text: str, **look: Any) -> None:  # noqa: ANN401 - matplotlib's own
    axes.text(*corner, text, **{"ha": "center", "va": "center", "fontsize": 8, "parse_math": False, **look})


def _short_name(name: str) -> str:
    label = escape_control_characters(name)
    return label if len(label) <= NAME_LENGTH else f"…{label[1 - NAME_LENGTH :]}"
