"""What was measured of a watch, as a table, one row for each third hour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

BEGIN = "<!-- written by python -m leadsman.lab.soaking; do not edit -->"
END = "<!-- until here, of the day -->"

EVERY_HOURS = 3
COLUMNS = {
    "hour": "hour",
    "driver_mb": "driver, MB",
    "workers_mb": "Python workers, MB",
    "heap_mb": "live objects of the JVM, MB",
    "batch_seconds": "batch, s",
    "round_seconds": "round, s",
    "events": "events",
    "state_mb": "state, MB",
    "state_files": "files of the state",
}


def render(figures: Mapping[str, Any]) -> str:
    """Return the table, under what was run."""
    conditions = (
        f"A day of {figures['lines']:,} lines and {figures['failures']} failures in {figures['minutes']:g} minutes "
        f"({figures['day']}), with a retention of {figures['retention_hours']} hours. Batch and round are means of the "
        "hour. Files that the tables of the state replaced stay for an hour of the clock, and are counted here."
    )
    faults = "; ".join(figures["faults"]) or "nothing grew, and each failure was opened and resolved once"
    header = (f"| {' | '.join(COLUMNS.values())} |", f"|{'---|' * len(COLUMNS)}")
    rows = [_row(each) for each in figures["looks"] if each["hour"] % EVERY_HOURS == 0]
    return "\n\n".join(
        (conditions, "\n".join((*header, *rows)), f"Compared with the middle third of the day: {faults}.")
    )


def _row(look: Mapping[str, float]) -> str:
    digits = {"batch_seconds": 2, "round_seconds": 2}
    return f"| {' | '.join(f'{look[name]:,.{digits.get(name, 0)}f}' for name in COLUMNS)} |"
