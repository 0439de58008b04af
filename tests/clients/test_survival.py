"""The tables of docs/clients.md are those of the last measurement, and no wrapped client broke a guarantee."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from leadsman.errors import LabError
from leadsman.lab.survival.faults import every_fault
from leadsman.lab.survival.guarantees import violations
from leadsman.lab.survival.results import FaultResult, WorkerResult, load, save
from leadsman.lab.survival.table import BEGIN, END, insert_table

DOCS = Path(__file__).parent.parent.parent / "docs"

ROW = WorkerResult(
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


def fault_result(*rows: WorkerResult) -> FaultResult:
    return FaultResult(
        fault="silence", description="silence", day="2026-01-01", cores=2, versions={"aiokafka": "1"}, rows=rows
    )


def test_the_page_has_the_tables_of_the_last_measurement() -> None:
    page = (DOCS / "clients.md").read_text(encoding="utf-8")

    written = insert_table(page, load(DOCS / "survival.json"))

    assert written == page


def test_every_fault_was_measured_and_no_guarantee_was_broken() -> None:
    measured = load(DOCS / "survival.json")

    violated = [text for each in measured for text in violations(each)]

    assert [each.fault for each in measured] == [fault.name for fault in every_fault()]
    assert violated == []


def test_a_fault_that_is_measured_again_replaces_its_figures_and_keeps_its_place(tmp_path: Path) -> None:
    results = tmp_path / "survival.json"
    save(replace(fault_result(ROW), fault="fork"), results, order=("silence", "fork"))
    save(fault_result(), results, order=("silence", "fork"))

    save(fault_result(ROW), results, order=("silence", "fork"))

    assert [each.fault for each in load(results)] == ["silence", "fork"]
    assert load(results)[0].rows == (ROW,)


@pytest.mark.parametrize(
    "row",
    [replace(ROW, lost_acknowledged=1), replace(ROW, acknowledged=5), replace(ROW, worst_seconds=30.0)],
    ids=["lost", "refused", "stalled"],
)
def test_a_wrapped_client_that_breaks_a_guarantee_is_named(row: WorkerResult) -> None:
    violated = list(violations(fault_result(row)))

    assert len(violated) == 1
    assert violated[0].startswith("silence, aiokafka wrapped: ")


def test_a_plain_client_guarantees_nothing() -> None:
    row = replace(ROW, how="plain", acknowledged=0, worst_seconds=60.0)

    violated = list(violations(fault_result(row)))

    assert violated == []


def test_a_page_without_marks_is_an_error() -> None:
    with pytest.raises(LabError, match="lacks a mark"):
        insert_table(f"# Clients\n{BEGIN}\n", [fault_result(ROW)])


def test_the_text_around_the_marks_stays() -> None:
    written = insert_table(f"before\n{BEGIN}\nold\n{END}\nafter\n", [fault_result(ROW)])

    assert written.startswith("before\n")
    assert written.endswith("\nafter\n")
    assert "old" not in written
