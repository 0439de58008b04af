"""A matrix with little room: the cells shown, and the count of the omitted ones."""

import io
import re
from dataclasses import replace
from itertools import product
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from leadsman.model import Cell
from leadsman.report.charts.matrix import NO_DATA, matrix_grid, name_lines, outcome_counts
from leadsman.report.charts.matrix_drawing import matrix_svg
from leadsman.report.charts.svg import COLOURS
from leadsman.report.console.findings import show_diagnoses

WORDS = {"prefix": "m1", "title": "Who reaches whom", "description": "Description"}


def printed(diagnosis, width=120):
    out = io.StringIO()
    show_diagnoses([diagnosis], Console(file=out, width=width, highlight=False))
    return out.getvalue()


@pytest.fixture
def large(matrix):
    names = product(range(60), range(30))
    cells = [
        Cell(row=f"c{r}", column=f"s{c}", outcome="SYN_SENT" if r == c else "established", is_harm=r == c)
        for r, c in names
    ]
    return replace(matrix, cells=tuple(cells), rows=10_000, columns=100)


NAMES = tuple(
    f"{name}-{n} (fd00:10:20:4::{n:04x}){port}"
    for name, port in (("worker", ""), ("broker", ":9092"))
    for n in range(24)
)


@pytest.fixture
def long_names(matrix):
    """A matrix of 24 clients and servers with IPv6 addresses."""
    pairs = product(NAMES[:24], NAMES[24:])
    cells = tuple(Cell(row=row, column=column, outcome="SYN_SENT", is_harm=True) for row, column in pairs)
    return replace(matrix, cells=cells, rows=24, columns=24)


def test_columns_with_trouble_come_first_and_a_pair_without_data_stays_empty(matrix):
    chosen = matrix_grid(matrix, 10, 10)

    assert [head[:8] for head in chosen.columns] == ["broker-1", "broker-3", "broker-2"]
    assert chosen.cells[1][1] is None
    assert chosen.omitted == ""


def test_what_there_is_no_room_for_is_counted(large):
    chosen = matrix_grid(large, 8, 4)

    assert (len(chosen.rows), len(chosen.columns)) == (8, 4)
    assert chosen.omitted == "9,992 more clients and 96 more servers"


def test_outcomes_are_counted_trouble_first(matrix):
    counts = outcome_counts(matrix)

    assert counts == "SYN_SENT and SYN_RECV (1), refused (1), established (3)"


def test_the_console_shows_the_matrix_between_the_chain_and_the_alternatives(reach):
    text = printed(reach)

    places = [text.index(part) for part in ("From cause to symptom", "Who reaches whom", "Alternative causes")]
    assert places == sorted(places)
    assert re.search(rf"worker-2 \(10\.20\.4\.23\) +established +{NO_DATA} +established", text)


def test_the_console_folds_a_matrix_into_a_narrow_terminal(reach):
    lines = printed(reach, width=60).splitlines()

    first = next(n for n, line in enumerate(lines) if "Who reaches whom" in line)
    assert max(map(len, lines[first : first + 12])) <= 60


@pytest.mark.parametrize("width", [60, 70, 80, 100, 120, 200])
def test_the_console_cuts_no_address(width, reach, long_names):
    text = printed(replace(reach, findings=(replace(reach.findings[0], matrix=long_names),)), width=width)

    words = {word.removesuffix(":") for word in text.split()}
    grid = matrix_grid(long_names, 8, 4)
    assert {word for name in (*grid.rows, *grid.columns) for word in name.split()} <= words


@pytest.mark.parametrize("columns", [1, 3, 24])
def test_a_drawing_cuts_no_address(columns, long_names):
    drawing = matrix_svg(matrix_grid(long_names, 24, columns), **WORDS)

    drawn = {element.text for element in ET.fromstring(drawing).iter() if element.text}
    shown = [*{cell.row for cell in long_names.cells}, *matrix_grid(long_names, 24, columns).columns]
    assert {line for name in shown for line in name_lines(name)} <= drawn


@pytest.mark.parametrize("which", ["matrix", "large"])
def test_a_drawing_of_a_matrix_takes_its_colours_from_the_page_and_names_itself(which, request):
    drawing = matrix_svg(matrix_grid(request.getfixturevalue(which), 24, 24), **WORDS)

    assert set(re.findall(r"#[0-9a-f]{6}\b", drawing)) == set()
    assert set(re.findall(r"var\(--([a-z-]+)\)", drawing)) <= set(COLOURS)
    assert 'role="img"' in drawing
