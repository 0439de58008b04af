"""Draws examples for records that are ingested at once: a batch of ten examples costs as much as a batch of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from hypothesis import HealthCheck, Phase, given, settings

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]


def drawn(strategy: SearchStrategy[T], count: int, *, derandomize: bool = True) -> list[T]:
    """Return the examples that Hypothesis gives to a test; the first is the simplest of all."""
    found: list[T] = []

    @given(strategy)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        derandomize=derandomize,
        database=None,
        deadline=None,
        suppress_health_check=SLOW,
    )
    def note(example: T) -> None:
        found.append(example)

    note()
    return found
