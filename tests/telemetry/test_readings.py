"""Each file of `outputs` is what a real program printed; the file beside it, what that means."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leadsman.telemetry.source import every_source, source_of
from leadsman.vocabulary import FILE_READ

if TYPE_CHECKING:
    from leadsman.pipeline.events import Row

OUTPUTS = sorted((Path(__file__).parent / "outputs").glob("*.txt"))
READINGS = [source for source in every_source() if source.reading]


def written(row: Row) -> str:
    """`12 partition.state leader=1 partition=0`: line, name, labels, and the value in brackets."""
    labels = " ".join(f"{key}={text}" for key, text in sorted(row.labels.items()))
    value = "" if row.value is None else f" ({row.value:g})"
    at = "" if row.at is None else f" @{row.at}"
    return f"{row.line} {row.name} {labels}{value}{at}" + (f" of {row.subject}" if row.subject else "")


def events(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row.name != FILE_READ]


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda path: path.stem)
def test_an_output_means_what_is_written_beside_it(output: Path, rows) -> None:
    expected = output.with_suffix(".expected").read_text().splitlines()

    assert [written(row) for row in events(rows(output))] == expected


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda path: path.stem)
def test_every_quote_stands_on_its_line(output: Path, rows) -> None:
    lines = output.read_text().splitlines()

    quoted = [(str(row.text), lines[row.line - 1]) for row in events(rows(output))]

    assert [text for text, line in quoted if text not in line] == []


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda path: path.stem)
def test_an_output_is_one_programs(output: Path) -> None:
    head = output.read_bytes()

    assert [source for source in READINGS if source.reading and source.reading.knows(head)] == [source_of(head)]
