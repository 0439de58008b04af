"""Writes the measured figures into the page: between two marks, and nowhere else."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.lab.survival.environment import LIMIT_SECONDS, PLAIN, WRAPPED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from leadsman.lab.survival.results import FaultResult, WorkerResult

BEGIN = "<!-- written by python -m leadsman.lab.survival; do not edit -->"
END = "<!-- until here -->"

HEAD = (
    "| fault | client | plain: acknowledged | lost | twice | worst stall | wrapped: acknowledged | lost | twice | worst stall |",  # noqa: E501 - one row
    "|---|---|---|---|---|---|---|---|---|---|",
)


def insert_table(page: str, results: Sequence[FaultResult]) -> str:
    """Return the page with the figures between its marks."""
    return replace_between(page, (BEGIN, END), render(results))


def replace_between(page: str, marks: tuple[str, str], content: str) -> str:
    """Return the page with this content between two marks, in place of the present content."""
    before, begin, remainder = page.partition(marks[0])
    _, end, after = remainder.partition(marks[1])
    if not begin or not end:
        raise LabError(f"The page lacks a mark, {marks[0]} or {marks[1]}. Add both where the table belongs.")
    return f"{before}{marks[0]}\n{content}\n{marks[1]}{after}"


def render(results: Sequence[FaultResult]) -> str:
    """Return the test conditions, a summary, and the table."""
    rows = [row for each in results for row in each.rows]
    return "\n\n".join((_conditions(results), _summary(rows), "\n".join((*HEAD, *_table(results)))))


def _conditions(results: Sequence[FaultResult]) -> str:
    days = sorted({each.day for each in results})
    cores = sorted({each.cores for each in results})
    return (
        f"Each fault was run once, with all workers side by side, on {' and '.join(map(str, cores))} cores, "
        f"{' and '.join(days)}. The lab's path drops idle connections after {LIMIT_SECONDS:g} s "
        f"instead of after 240 to 600 s. {_versions(results)}"
    )


def _versions(results: Sequence[FaultResult]) -> str:
    used: dict[str, set[str]] = {}
    for each in results:
        for name, version in each.versions.items():
            used.setdefault(name, set()).add(version)
    return ", ".join(f"{name} {' and '.join(sorted(versions))}" for name, versions in used.items()) + "."


def _summary(rows: Sequence[WorkerResult]) -> str:
    lost_acknowledged = sum(row.lost_acknowledged for row in rows)
    first = (
        f"{lost_acknowledged} records were acknowledged and lost"
        if lost_acknowledged
        else "No acknowledged record was lost, by any client"
    )
    lost = {how: sum(row.lost for row in rows if row.how == how) for how in (PLAIN, WRAPPED)}
    return f"{first}; with plain clients {lost[PLAIN]} records were not stored, with wrapped ones {lost[WRAPPED]}."


def _table(results: Iterable[FaultResult]) -> Iterator[str]:
    for each in results:
        for client, pair in groupby(each.rows, key=lambda row: row.client):
            cells = " | ".join(_cells(row) for row in sorted(pair, key=lambda row: row.how == WRAPPED))
            yield f"| {each.description} | {client} | {cells} |"


def _cells(row: WorkerResult) -> str:
    return f"{row.acknowledged} of {row.sent} | {row.lost} | {row.duplicated} | {row.worst_seconds:.2f} s"
