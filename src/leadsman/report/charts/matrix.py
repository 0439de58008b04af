"""A matrix as rows of cells for console and page, and the omitted rows and columns. Draws nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leadsman.report.text.escaping import escape_control_characters
from leadsman.words import count

if TYPE_CHECKING:
    from leadsman.model import Cell, Matrix

NO_DATA = "no data"


@dataclass(frozen=True, slots=True)
class MatrixGrid:
    """Names of rows and columns, and the cells of each row; None where the capture holds no data for the pair."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Cell | None, ...], ...]
    omitted: str


def matrix_grid(matrix: Matrix, rows: int, columns: int) -> MatrixGrid:
    """Return the first `rows` and `columns` of the matrix: those with harm come first."""
    names = tuple(dict.fromkeys(cell.row for cell in matrix.cells))[:rows]
    headings = _columns(matrix, names)[:columns]
    at = {(cell.row, cell.column): cell for cell in matrix.cells}
    cells = tuple(tuple(at.get((name, heading)) for heading in headings) for name in names)
    return MatrixGrid(names, headings, cells, _omitted_text(matrix, len(names), len(headings)))


def _columns(matrix: Matrix, rows: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns of these rows, those with most harm first, then by name."""
    headings = sorted({cell.column for cell in matrix.cells if cell.row in rows})
    harm = {heading: sum(cell.is_harm for cell in matrix.cells if cell.column == heading) for heading in headings}
    return tuple(sorted(headings, key=lambda heading: -harm[heading]))


def _omitted_text(matrix: Matrix, rows: int, columns: int) -> str:
    axes = matrix.axes
    more = ((matrix.rows - rows, axes.row), (matrix.columns - columns, axes.column))
    return " and ".join(count(number, f"more {name}|more {name}s") for number, name in more if number > 0)


def name_lines(name: str) -> list[str]:
    """Return a name on up to two lines, the address and port on their own: `broker-1`, `(10.20.4.11):9092`."""
    return escape_control_characters(name).replace(" (", "\n(", 1).split("\n")


def outcome_counts(matrix: Matrix) -> str:
    """Return how many pairs have which outcome, harm first: `SYN_SENT (2), established (3)`."""
    outcomes = [cell.outcome for cell in sorted(matrix.cells, key=lambda cell: not cell.is_harm)]
    return ", ".join(f"{each} ({outcomes.count(each)})" for each in dict.fromkeys(outcomes))
