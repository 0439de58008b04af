"""The table of all forms, what reaches least of its goal first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.forms import peers
from bench.forms.form import MAX_MEMORY_MB

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench.forms.runs import FormResult

COLUMNS = (
    "form", "MB", "MB/s a core", "peer", "its MB/s", "ratio", "goal", "reached",
    "events", "µs an event", "by the goal", "peak MB",
    "four patterns, MB/s", "DuckDB, MB/s", "Polars, MB/s",
)  # fmt: skip

ALSO = (peers.FOUR, peers.DUCKDB, peers.POLARS)


def table(measured: Iterable[FormResult]) -> list[str]:
    """Return the lines of a Markdown table."""
    ordered = sorted(measured, key=lambda row: row.reached)
    return [_line(COLUMNS), "|" + "---|" * len(COLUMNS), *(_line(_cells(row)) for row in ordered)]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(row: FormResult) -> tuple[str, ...]:
    return (
        row.form.name,
        f"{row.mb:.0f}",
        f"{row.mb_s:.1f}",
        row.form.peer,
        f"{row.peer_mb_s:,.0f}",
        f"{row.ratio:.2f}",
        str(row.form.goal),
        _reached(row),
        f"{row.events:,}",
        _event_microseconds(row, row.mb_s),
        _event_microseconds(row, row.form.goal.mb_s or row.form.goal.ratio * row.peer_mb_s),
        f"{row.peak_mb:.0f}" if row.peak_mb < MAX_MEMORY_MB else f"**{row.peak_mb:.0f}**",
        *(f"{row.also_mb_s[name]:,.0f}" if name in row.also_mb_s else "" for name in ALSO),
    )


def _event_microseconds(row: FormResult, mb_s: float) -> str:
    """Return the CPU time that there is for each event, and for the bytes around it, at a speed."""
    return f"{row.mb / mb_s / row.events * 1e6:,.1f}" if row.events else ""


def _reached(row: FormResult) -> str:
    if not row.is_read:
        return f"**not read**: {len(row.refused)} files not understood, {row.events:,} events"
    if row.reached < 1:
        return f"**no**, {row.reached:.0%}"
    return "yes" if row.peak_mb < MAX_MEMORY_MB else "**no**, too much memory"
