"""How much of each thing a page holds. A page counts what it leaves out; the JSON document holds everything."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """The largest number of each thing on a page."""

    captures: int
    charts: int
    lines_per_link: int
    characters_per_line: int
    marks_per_chart: int
    rows_per_table: int
    subjects: int


FULL = Detail(
    captures=100,
    charts=20,
    lines_per_link=200,
    characters_per_line=2_000,
    marks_per_chart=800,
    rows_per_table=100,
    subjects=24,
)
LESS = replace(FULL, lines_per_link=20, characters_per_line=1_000, marks_per_chart=200, rows_per_table=30, subjects=12)
LEAST = replace(LESS, captures=50, charts=5, lines_per_link=2, characters_per_line=400, rows_per_table=5, subjects=4)
