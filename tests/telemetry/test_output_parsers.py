"""Each file of `outputs` was printed by a real program; the file beside it lists its events."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leadsman.telemetry.source import all_sources, output_source
from leadsman.vocabulary import FILE_READ

if TYPE_CHECKING:
    from leadsman.pipeline.events import EventRow

OUTPUTS = sorted((Path(__file__).parent / "outputs").glob("*.txt"))
SOURCES_WITH_PARSER = [source for source in all_sources() if source.parser]


def as_text(row: EventRow) -> str:
    """`12 partition.state leader=1 partition=0`: line, name, labels, and the value in brackets."""
    labels = " ".join(f"{key}={text}" for key, text in sorted(row.labels.items()))
    value = "" if row.value is None else f" ({row.value:g})"
    at = "" if row.at is None else f" @{row.at}"
    return f"{row.line} {row.name} {labels}{value}{at}" + (f" of {row.subject}" if row.subject else "")


def events(rows: list[EventRow]) -> list[EventRow]:
    return [row for row in rows if row.name != FILE_READ]


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda path: path.stem)
def test_an_output_becomes_the_events_beside_it(output: Path, rows) -> None:
    expected = output.with_suffix(".expected").read_text().splitlines()

    assert [as_text(row) for row in events(rows(output))] == expected


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda path: path.stem)
def test_every_quote_stands_on_its_line(output: Path, rows) -> None:
    lines = output.read_text().splitlines()

    quoted = [(str(row.text), lines[row.line - 1]) for row in events(rows(output))]

    assert [text for text, line in quoted if text not in line] == []


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda path: path.stem)
def test_exactly_one_source_recognises_each_output(output: Path) -> None:
    head = output.read_bytes()

    assert [source for source in SOURCES_WITH_PARSER if source.parser and source.parser.recognises(head)] == [
        output_source(head)
    ]
