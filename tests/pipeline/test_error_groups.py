"""Of errors without end as many kinds are kept as a report can be made of, and the others are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.events import EventRow
from leadsman.pipeline.read.error_groups import GROUPS_AFTER_PRUNING, MAX_GROUPS, ErrorGroups
from leadsman.pipeline.read.records import iso

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KINDS = 5 * MAX_GROUPS
LETTERS = str.maketrans("0123456789", "abcdefghij")
FATAL = "java.lang.OutOfMemoryError"
OFTEN = "ERROR Store - refused"


def row(kind: str, at: int = 0, level: str = "ERROR") -> Callable[[], EventRow]:
    labels = {"kind": kind, "message": kind, "level": level}
    return lambda: EventRow("capture", at, "app", None, names.ERROR, "app.log", 1, kind, 0.0, labels)


def stormed() -> list[EventRow]:
    """Return the rows of a storm with one fatal error at its beginning, and one kind that comes again and again."""
    groups = ErrorGroups()
    groups.add((FATAL, ""), 0, row(FATAL), file="app.log", line=1)
    for at in range(KINDS):
        groups.add((f"kind {at}", ""), at, row(f"kind {at}", at), file="app.log", line=1)
        groups.add((OFTEN, ""), at, row(OFTEN, at), file="app.log", line=1)
    return list(groups.rows(iso))


def test_a_storm_of_kinds_takes_no_more_than_its_share() -> None:
    reported = stormed()

    assert GROUPS_AFTER_PRUNING <= len(reported) <= MAX_GROUPS + 3


def test_every_error_is_counted() -> None:
    reported = stormed()

    (unlisted,) = [each for each in reported if each.name == names.ERRORS_UNLISTED]
    assert sum(each.value or 0 for each in reported) == 2 * KINDS + 1
    assert int(unlisted.labels["kinds"]) == KINDS + 3 - len(reported)
    assert (unlisted.at, unlisted.labels["until"]) == (0, iso(int(unlisted.labels["kinds"]) - 1))


def test_what_is_worst_and_what_is_many_is_kept() -> None:
    counts = {each.labels.get("kind"): each.value for each in stormed()}

    assert (counts[FATAL], counts[OFTEN]) == (1, KINDS)


def test_the_newest_of_what_happened_once_is_kept() -> None:
    kinds = {each.labels.get("kind") for each in stormed()}

    assert f"kind {KINDS - 1}" in kinds
    assert "kind 0" not in kinds


def test_a_log_of_distinct_errors_is_counted_whole(rows: Callable[[Path], list[EventRow]], tmp_path: Path) -> None:
    lines = (f"2026-11-21 12:00:00,000 ERROR app.Main - No {str(at).translate(LETTERS)} here" for at in range(KINDS))
    (tmp_path / "app.log").write_text("\n".join(lines) + "\n")

    reported = rows(tmp_path)

    counts = [each.value or 0 for each in reported if each.name in {names.ERROR, names.ERRORS_UNLISTED}]
    assert sum(counts) == KINDS
    assert len(counts) <= MAX_GROUPS + 1
