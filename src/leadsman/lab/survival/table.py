"""Puts what was measured into the page: between two marks, and nowhere else."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.lab.survival.stage import LIMIT_SECONDS, PLAIN, WRAPPED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from leadsman.lab.survival.rows import Played, Row

BEGIN = "<!-- written by python -m leadsman.lab.survival; do not edit -->"
END = "<!-- until here -->"

HEAD = (
    "| fault | client | plain: acknowledged | lost | twice | worst stall | wrapped: acknowledged | lost | twice | worst stall |",  # noqa: E501 (one row)
    "|---|---|---|---|---|---|---|---|---|---|",
)


def into(page: str, played: Sequence[Played]) -> str:
    """Return the page with what was measured between its marks."""
    return between(page, (BEGIN, END), text(played))


def between(page: str, marks: tuple[str, str], content: str) -> str:
    """Return the page with this content between two marks, in place of what is there."""
    before, begin, rest = page.partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not begin or not end:
        raise LabError(f"The page lacks a mark, {marks[0]} or {marks[1]}. Put both where the table is to stand.")
    return f"{before}{marks[0]}\n{content}\n{marks[1]}{after}"


def text(played: Sequence[Played]) -> str:
    """Return the circumstances, what came out, and the table."""
    rows = [row for each in played for row in each.rows]
    return "\n\n".join((_circumstances(played), _outcome(rows), "\n".join((*HEAD, *_table(played)))))


def _circumstances(played: Sequence[Played]) -> str:
    days = sorted({each.day for each in played})
    cores = sorted({each.cores for each in played})
    return (
        f"Each fault was played once, with all workers side by side, on {' and '.join(map(str, cores))} cores, "
        f"{' and '.join(days)}. An idle limit of {LIMIT_SECONDS:g} s stands for the path's. {_versions(played)}"
    )


def _versions(played: Sequence[Played]) -> str:
    used: dict[str, set[str]] = {}
    for each in played:
        for name, version in each.versions.items():
            used.setdefault(name, set()).add(version)
    return ", ".join(f"{name} {' and '.join(sorted(versions))}" for name, versions in used.items()) + "."


def _outcome(rows: Sequence[Row]) -> str:
    gone = sum(row.lost_acknowledged for row in rows)
    told = f"{gone} records were acknowledged and lost" if gone else "No acknowledged record was lost, by any client"
    refused = {how: sum(row.lost for row in rows if row.how == how) for how in (PLAIN, WRAPPED)}
    return f"{told}; plain clients refused {refused[PLAIN]} records, wrapped ones {refused[WRAPPED]}."


def _table(played: Iterable[Played]) -> Iterator[str]:
    for each in played:
        for client, pair in groupby(each.rows, key=lambda row: row.client):
            cells = " | ".join(_cells(row) for row in sorted(pair, key=lambda row: row.how == WRAPPED))
            yield f"| {each.says} | {client} | {cells} |"


def _cells(row: Row) -> str:
    return f"{row.acknowledged} of {row.sent} | {row.lost} | {row.duplicated} | {row.worst_seconds:.2f} s"
