"""The page says what was measured, and what a wrapped client promises is held against it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from leadsman.errors import LabError
from leadsman.lab.survival.faults import every_fault
from leadsman.lab.survival.promise import broken
from leadsman.lab.survival.rows import Played, Row, load, save
from leadsman.lab.survival.table import BEGIN, END, into

DOCS = Path(__file__).parent.parent.parent / "docs"

ROW = Row(
    fault="silence",
    client="aiokafka",
    how="wrapped",
    sent=6,
    acknowledged=6,
    lost=0,
    lost_acknowledged=0,
    duplicated=0,
    worst_seconds=0.03,
)


def played(*rows: Row) -> Played:
    return Played(fault="silence", says="silence", day="2026-01-01", cores=2, versions={"aiokafka": "1"}, rows=rows)


def test_the_page_says_what_was_measured_and_nothing_else() -> None:
    page = (DOCS / "clients.md").read_text(encoding="utf-8")

    written = into(page, load(DOCS / "survival.json"))

    assert written == page


def test_every_fault_was_measured_and_no_promise_was_broken() -> None:
    measured = load(DOCS / "survival.json")

    complaints = [words for each in measured for words in broken(each)]

    assert [each.fault for each in measured] == [fault.name for fault in every_fault()]
    assert complaints == []


def test_a_fault_that_is_played_again_replaces_its_figures_and_keeps_its_place(tmp_path: Path) -> None:
    results = tmp_path / "survival.json"
    save(replace(played(ROW), fault="fork"), results, order=("silence", "fork"))
    save(played(), results, order=("silence", "fork"))

    save(played(ROW), results, order=("silence", "fork"))

    assert [each.fault for each in load(results)] == ["silence", "fork"]
    assert load(results)[0].rows == (ROW,)


@pytest.mark.parametrize(
    "row",
    [replace(ROW, lost_acknowledged=1), replace(ROW, acknowledged=5), replace(ROW, worst_seconds=30.0)],
    ids=["lost", "refused", "stalled"],
)
def test_a_wrapped_client_that_breaks_its_promise_is_named(row: Row) -> None:
    complaints = list(broken(played(row)))

    assert len(complaints) == 1
    assert complaints[0].startswith("silence, aiokafka wrapped: ")


def test_a_plain_client_promises_nothing() -> None:
    row = replace(ROW, how="plain", acknowledged=0, worst_seconds=60.0)

    complaints = list(broken(played(row)))

    assert complaints == []


def test_a_page_without_marks_is_left_alone() -> None:
    with pytest.raises(LabError, match="lacks a mark"):
        into(f"# Clients\n{BEGIN}\n", [played(ROW)])


def test_what_stands_around_the_marks_stays() -> None:
    written = into(f"before\n{BEGIN}\nold\n{END}\nafter\n", [played(ROW)])

    assert written.startswith("before\n")
    assert written.endswith("\nafter\n")
    assert "old" not in written
