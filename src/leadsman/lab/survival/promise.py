"""What a wrapped client promises, held against what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.lab.survival.stage import WRAPPED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.lab.survival.rows import Played, Row

STALL_SECONDS = {"idle_close": 0.5, "reset": 0.5, "silence": 0.5, "freeze_1x": 0.5, "freeze_3x": 0.5}
"""The longest stall allowed by fault. Measured are 0.02 to 0.2 s; plain clients stall for 30 to 60 s. The room is for
a machine with two cores on which all six clients wake at once."""


def broken(played: Played) -> Iterator[str]:
    """Say which promises were not kept."""
    for row in played.rows:
        if row.how == WRAPPED:
            yield from _broken(row)


def _broken(row: Row) -> Iterator[str]:
    who = f"{row.fault}, {row.client} wrapped"
    if row.lost_acknowledged:
        yield f"{who}: {row.lost_acknowledged} acknowledged records are not stored."
    if row.acknowledged < row.sent:
        yield f"{who}: {row.sent - row.acknowledged} of {row.sent} records were not acknowledged."
    if row.worst_seconds > STALL_SECONDS.get(row.fault, float("inf")):
        yield f"{who}: a stall of {row.worst_seconds:.2f} s; promised are {STALL_SECONDS[row.fault]:g} s."
