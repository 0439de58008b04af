"""Draws a matrix as SVG, in the page's colours: one square for each pair, with the names of rows and columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from leadsman.report.charts.drawings import SETTINGS, WIDTH, figure_svg
from leadsman.report.charts.matrix import name_lines
from leadsman.report.charts.svg import COLOURS, page_svg
from leadsman.report.text.escaping import escape_control_characters

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes

    from leadsman.model import Cell
    from leadsman.report.charts.matrix import MatrixGrid

ROW_INCHES = 0.4
"""Room for a name on two lines."""

LETTER_INCHES, LINE_INCHES = 0.065, 0.15
"""Width of a letter of 8 points (0.058 on average), and height of a line."""

MARGIN_INCHES = 0.15
PIXELS_AN_INCH = 96
"""The drawing keeps this size on every screen, and the reader scrolls: a name that is cut names no host."""


@dataclass(frozen=True, slots=True)
class _MatrixSize:
    """Sizes in inches. Every name is drawn in full: upright above its column where all columns have room for that."""

    side: float
    column: float
    head: float
    upright: bool


def matrix_svg(grid: MatrixGrid, *, prefix: str, title: str, description: str) -> str:
    """Draw the matrix; a pair without data is an empty frame."""
    rows, columns = len(grid.rows), len(grid.columns)
    size = _matrix_size(grid)
    width, height = size.side + size.column * columns, rows * ROW_INCHES + size.head
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(width, height), facecolor="none")
        bounds = (size.side / width, 0.0, 1 - size.side / width, rows * ROW_INCHES / height)
        axes = figure.add_axes(bounds, facecolor="none")
        axes.set_axis_off()
        axes.set_xlim(0, columns)
        axes.set_ylim(rows, 0)
        for row, cells in enumerate(grid.cells):
            name = "\n".join(name_lines(grid.rows[row]))
            _write_text(axes, (-0.08 / size.column, row + 0.5), name, ha="right")
            _draw_cells(axes, row, cells, size.column)
        for column, name in enumerate(grid.columns):
            _write_text(
                axes,
                (column + 0.5, -0.05 / ROW_INCHES),
                "\n".join(name_lines(name)),
                va="bottom",
                rotation=0 if size.upright else 90,
            )
        svg = page_svg(figure_svg(figure), prefix=prefix, title=title, description=description)
    return svg.replace("<svg ", f'<svg style="width: {width * PIXELS_AN_INCH:.0f}px; min-width: 0" ', 1)


def _matrix_size(grid: MatrixGrid) -> _MatrixSize:
    heads = [name_lines(name) for name in grid.columns]
    longest = _inches(line for lines in heads for line in lines)
    cells = _inches(line for row in grid.cells for cell in row if cell for line in _outcome_lines(cell.outcome))
    side = _inches(line for name in grid.rows for line in name_lines(name))
    column = max(longest, cells)
    if side + column * len(heads) <= WIDTH:
        return _MatrixSize(side, column, max(map(len, heads)) * LINE_INCHES + 0.1, upright=True)
    narrow = max((WIDTH - side) / len(heads), max(map(len, heads)) * LINE_INCHES + 0.05)
    return _MatrixSize(side, narrow, longest, upright=False)


def _inches(lines: Iterable[str]) -> float:
    """Return the width of the longest line, with a margin."""
    return max(map(len, lines), default=0) * LETTER_INCHES + MARGIN_INCHES


def _draw_cells(axes: Axes, row: int, cells: tuple[Cell | None, ...], width: float) -> None:
    for column, cell in enumerate(cells):
        ground, ink = ("panel", "ink") if cell is None else ("bad", "panel") if cell.is_harm else ("active", "ink")
        corner, size = (column + 0.02, row + 0.06), (0.96, 0.88)
        axes.add_patch(Rectangle(corner, *size, facecolor=COLOURS[ground], edgecolor=COLOURS["grid"], linewidth=0.8))
        if cell is not None and _inches(_outcome_lines(cell.outcome)) <= width + 0.001:
            _write_text(axes, (column + 0.5, row + 0.5), "\n".join(_outcome_lines(cell.outcome)), color=COLOURS[ink])


def _outcome_lines(outcome: str) -> list[str]:
    """Return an outcome on up to two lines: `SYN_SENT`, `and SYN_RECV`."""
    return escape_control_characters(outcome).replace(" and ", "\nand ", 1).split("\n")


def _write_text(axes: Axes, corner: tuple[float, float], text: str, **look: Any) -> None:  # noqa: ANN401 - matplotlib's own
    axes.text(*corner, text, **{"ha": "center", "va": "center", "fontsize": 8, "parse_math": False, **look})
