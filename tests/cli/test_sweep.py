"""`leadsman sweep`: what it refuses, and what it shows of a grid that was run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from leadsman.errors import UsageError
from leadsman.sweep.grid import cells, parse_axis
from leadsman.sweep.journal import FILE, Journal, JournalEntry, ProgramOutcome, SweepTarget

if TYPE_CHECKING:
    from pathlib import Path

GRID = ("default.api.timeout.ms=5s,60s", "retries=0,100")
WORDS = [word for text in GRID for word in ("--set", text)]


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    """A folder in which every cell of the grid was run: a program that waits 5 s dies."""
    journal = Journal(tmp_path / FILE, SweepTarget(mode="leaderless_partition", variant="broken", kafka="4.3.1"))
    journal.open()
    for cell in cells(["java@2.7.2"], [parse_axis(text) for text in GRID]):
        died = int(dict(cell.settings)["default.api.timeout.ms"] == "5000")
        outcomes = {"billing": ProgramOutcome(harm={"died": died, "stalled": 9 * died}, waited=20.4)}
        journal.add(
            [
                JournalEntry(
                    client=cell.client,
                    settings=dict(cell.settings),
                    repeat=1,
                    outcomes=outcomes,
                    run_seconds=52,
                    recovery_seconds=19,
                )
            ]
        )
    return tmp_path


def test_a_misspelt_setting_is_refused_with_what_was_meant(call, tmp_path: Path) -> None:
    result = call("sweep", "leaderless_partition", "--set", "default.api.timout.ms=5s", "--out", tmp_path)

    assert result.code == 2
    assert "Did you mean default.api.timeout.ms" in result.err
    assert not list(tmp_path.iterdir())


def test_a_variant_that_there_is_not_is_refused_before_anything_is_written(call, tmp_path: Path) -> None:
    result = call("sweep", "leaderless_partition", *WORDS, "--variant", "none", "--out", tmp_path)

    assert result.code == 2
    assert "has no variant none" in result.err
    assert not list(tmp_path.iterdir())


def test_a_grid_that_was_run_is_shown_and_not_run_again(call, finished: Path) -> None:
    before = (finished / FILE).read_text()

    result = call("sweep", "leaderless_partition", *WORDS, "--client", "java@2.7.2", "--out", finished)

    assert result.code == 0
    assert "The smallest value that survives is 60 s" in result.out
    assert "retries has no effect" in result.out
    assert (finished / FILE).read_text() == before
    assert {path.suffix for path in finished.iterdir()} == {".jsonl", ".json", ".csv", ".md", ".html"}


def test_a_program_reads_it_as_json_or_csv(call, finished: Path) -> None:
    words = ("sweep", "leaderless_partition", *WORDS, "--client", "java@2.7.2", "--out", finished, "--format")

    as_json, as_csv = call(*words, "json").out, call(*words, "csv").out

    assert json.loads(as_json)["effects"][0]["smallest"] == "60000"
    assert as_csv.splitlines()[1] == "java@2.7.2,billing,5000,0,1,0,20.4,9,0,1"


@pytest.mark.parametrize("text", ["[" * 100_000 + "\n", "5\n", "{}\n5\n", "no JSON\nand half a line", '[{"a": 1}]\n'])
def test_a_file_that_is_no_journal_stays_as_it_is(tmp_path: Path, text: str) -> None:
    file = tmp_path / "journal.jsonl"
    file.write_text(text, encoding="utf-8")
    journal = Journal(file, SweepTarget(mode="leaderless_partition", variant="broken", kafka="4.3"))

    with pytest.raises(UsageError, match="is no journal of a sweep"):
        journal.open()

    assert file.read_text(encoding="utf-8") == text
