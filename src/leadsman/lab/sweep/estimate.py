"""The remaining time of a sweep, by its last runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

RECENT = 5
"""Runs that count: a machine that became slower stays slow for a while."""


def remaining_seconds(run_seconds: Sequence[float], left: int) -> float | None:
    """Return the seconds of `left` further runs, by the mean of the last; None before the first."""
    recent = run_seconds[-RECENT:]
    return left * sum(recent) / len(recent) if recent else None
