"""The measured figures as a table: seconds after the first harm and after the cure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

BEGIN = "<!-- written by python -m leadsman.lab.watching; do not edit -->"
END = "<!-- until here, of the incidents -->"

COLUMNS = (
    "incident",
    "first harm",
    *("opened", "on the page", "in Alertmanager"),
    "cure",
    "idle time",
    *("resolved", "on the page", "out of Alertmanager"),
)
HEAD = (f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}")


def render(measured: Mapping[str, Any]) -> str:
    """Return the table, under what was measured and how."""
    days = ", ".join(sorted({run["day"] for run in measured.values()}))
    conditions = (
        f"Measured on {days}, each incident once, brokers, clients and the watch on the same two cores. Seconds after "
        "the first harm (opened) and after the cure (resolved), as the lab's own clock has them. The idle time counts "
        "from the last harm that the telemetry shows; it was set by `--resolved-after`. By default it is 15 minutes, "
        "for `producer_id_leak` a day, and a finding is resolved so much later."
    )
    return "\n\n".join((conditions, "\n".join((*HEAD, *(_row(run) for run in measured.values())))))


def _row(run: Mapping[str, Any]) -> str:
    cells = (
        f"`{run['mode']}`, `{run['variant']}`",
        run["first_harm"],
        *_cells(run["opened"]),
        f"{run['cure']}, {_seconds(run['cured'])} after the first harm",
        f"{run['idle_seconds']:g} s",
        *_cells(run["resolved"]),
    )
    return f"| {' | '.join(cells)} |"


def _cells(times: Mapping[str, float | None]) -> Iterator[str]:
    for output in ("output", "page", "alertmanager"):
        yield _seconds(times[output])


def _seconds(value: float | None) -> str:
    if value is None:
        return "not in this run"
    return f"{value:.1f} s" if value >= 0 else f"{-value:.1f} s before"
