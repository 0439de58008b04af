"""A matrix as rows of cells that fit, for console and page, and what they leave out. Draws nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leadsman.words import count

if TYPE_CHECKING:
    from leadsman.model import Cell, Matrix

NO_DATA = "no data"


@dataclass(frozen=True, slots=True)
class Grid:
    """Names of rows and columns, and of each row its cells; None where the capture holds no data of the two."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Cell | None, ...], ...]
    left_out: str


def grid(matrix: Matrix, rows: int, columns: int) -> Grid:
    """Arrange the cells, in the order in which they come: rows and columns with trouble first."""
    names = tuple(dict.fromkeys(cell.row for cell in matrix.cells))[:rows]
    heads = _columns(matrix, names)[:columns]
    at = {(cell.row, cell.column): cell for cell in matrix.cells}
    cells = tuple(tuple(at.get((name, head)) for head in heads) for name in names)
    return Grid(names, heads, cells, _left_out(matrix, len(names), len(heads)))


def _columns(matrix: Matrix, rows: tuple[str, ...]) -> tuple[str, ...]:
    """Order columns by their trouble, then by their name; a column of which no row is shown says nothing."""
    heads = sorted({cell.column for cell in matrix.cells if cell.row in rows})
    trouble = {head: sum(cell.trouble for cell in matrix.cells if cell.column == head) for head in heads}
    return tuple(sorted(heads, key=lambda head: -trouble[head]))


def _left_out(matrix: Matrix, rows: int, columns: int) -> str:
    axes = matrix.axes
    more = ((matrix.rows - rows, axes.row), (matrix.columns - columns, axes.column))
    return " and ".join(count(number, f"more {name}|more {name}s") for number, name in more if number > 0)


def tally(matrix: Matrix) -> str:
    """Say how many pairs stand how, the most frequent last word first: `3 established, 2 SYN_SENT`."""
    outcomes = [cell.outcome for cell in sorted(matrix.cells, key=lambda cell: not cell.trouble)]
    return ", ".join(f"{outcomes.count(each)} {each}" for each in dict.fromkeys(outcomes))
