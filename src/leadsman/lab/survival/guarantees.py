"""The guarantees of wrapped clients, checked against the measured figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.lab.survival.environment import WRAPPED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.lab.survival.results import FaultResult, WorkerResult

MAX_STALL_SECONDS = {"idle_close": 0.5, "reset": 0.5, "silence": 0.5, "freeze_1x": 0.5, "freeze_3x": 0.5}
"""The longest stall allowed by fault. Measured are 0.02 to 0.2 s; plain clients stall for 30 to 60 s. The margin is for
a machine with two cores on which all six clients wake at once."""


def violations(result: FaultResult) -> Iterator[str]:
    """Yield a sentence for each guarantee that was broken."""
    for row in result.rows:
        if row.how == WRAPPED:
            yield from _violations(row)


def _violations(row: WorkerResult) -> Iterator[str]:
    label = f"{row.fault}, {row.client} wrapped"
    if row.lost_acknowledged:
        yield f"{label}: {row.lost_acknowledged} acknowledged records are not stored."
    if row.acknowledged < row.sent:
        yield f"{label}: {row.sent - row.acknowledged} of {row.sent} records were not acknowledged."
    if row.worst_seconds > MAX_STALL_SECONDS.get(row.fault, float("inf")):
        yield f"{label}: a stall of {row.worst_seconds:.2f} s; guaranteed are {MAX_STALL_SECONDS[row.fault]:g} s."
