"""The thread that writes the history: a slow or unreachable target delays no round, and gets all changes later."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leadsman.waiting import wait_for
from leadsman.watch.finding_changes import FindingHistory
from leadsman.watch.state import delta_tables
from leadsman.watch.state.findings_file import FindingsFile
from leadsman.watch.state.history_table import HISTORY_SCHEMA, delta_table
from leadsman.watch.state.history_writer import history_writer

from .findings import at, diagnosed, harmed

if TYPE_CHECKING:
    from pathlib import Path

WAIT = timedelta(seconds=30)
Rows = list[tuple[int, Any]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of findings with one change."""
    path = tmp_path / "findings.sqlite"
    open_findings(path, minute=0)
    return path


def open_findings(path: Path, *, minute: float) -> None:
    file = FindingsFile(path)
    history = FindingHistory()
    changes = history.update([diagnosed(harmed(minute), until=minute + 1)], {}, at(minute + 1))
    file.save([(each, "{}") for each in changes], history.known.values())
    file.close()


def test_what_is_in_the_file_is_written_first_and_what_comes_later_at_a_notice(path: Path):
    written: list[int] = []
    with history_writer(path, [("topic", lambda rows: written.extend(seq for seq, _ in rows))], print) as writer:
        wait_for(lambda: written == [1], timeout=WAIT, what="the first change")
        open_findings(path, minute=1000)
        writer.notify()
        wait_for(lambda: written == [1, 2], timeout=WAIT, what="the second change")


def test_a_change_just_before_the_end_is_written(path: Path):
    written: list[int] = []
    with history_writer(path, [("topic", lambda rows: written.extend(seq for seq, _ in rows))], print):
        open_findings(path, minute=1000)

    assert written == [1, 2]


def test_an_unreachable_target_is_reported_once_and_gets_all_changes_later_and_delays_no_other(path: Path):
    log: list[str] = []
    written: dict[str, list[int]] = {"topic": [], "delta": []}
    is_unreachable, tried = threading.Event(), threading.Semaphore(0)
    is_unreachable.set()

    def write(rows: Rows) -> None:
        tried.release()
        if is_unreachable.is_set():
            raise OSError("no broker answers")
        written["topic"].extend(seq for seq, _ in rows)

    targets = [("topic", write), ("delta", lambda rows: written["delta"].extend(seq for seq, _ in rows))]
    with history_writer(path, targets, log.append) as writer:
        for minute in (1000, 2000):
            assert tried.acquire(timeout=30)
            open_findings(path, minute=minute)
            writer.notify()
        wait_for(lambda: written["delta"] == [1, 2, 3], timeout=WAIT, what="the changes in the table")
        assert tried.acquire(timeout=30)
        is_unreachable.clear()
        writer.notify()
        wait_for(lambda: written["topic"] == [1, 2, 3], timeout=WAIT, what="the changes in the topic")

    assert log == ["The history cannot be written to topic, and is written later: no broker answers"]


def test_the_table_has_a_row_for_each_change_once(path: Path, tmp_path: Path):
    for minute in (1000, 2000):
        with history_writer(path, [delta_table(tmp_path / "history")], print):
            open_findings(path, minute=minute)

    rows = delta_tables.read(tmp_path / "history", HISTORY_SCHEMA).to_pylist()
    assert sorted(row["seq"] for row in rows) == [1, 2, 3]
    assert {row["life"] for row in rows} == {"opened"}
    assert {row["since"] for row in rows} == {at(0), at(1000), at(2000)}
