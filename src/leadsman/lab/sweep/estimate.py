"""How long the rest of a sweep will take, by what was played so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

RECENT = 5
"""Runs that are looked at: a machine that became slower stays so for a while."""


def remaining(lasted: Sequence[float], left: int) -> float | None:
    """Return seconds until `left` runs are done, by the last that were; None before the first."""
    recent = lasted[-RECENT:]
    return left * sum(recent) / len(recent) if recent else None
