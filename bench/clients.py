"""Measures what a provider costs at each use, and writes it into docs/clients.md.

python -m bench.clients
"""

from __future__ import annotations

import os
import timeit
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.lab.survival.table import replace_between
from leadsman_clients import ExpiringProvider, Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAGE = Path(__file__).parent.parent / "docs" / "clients.md"
MARKS = ("<!-- written by python -m bench.clients; do not edit -->", "<!-- until here, of the benchmark -->")

USES, REPEATS = 200_000, 7
"""The fastest of several repeats is told: what else the machine does can only add."""

PROMISE_MICROSECONDS = 1.0
"""The fast path: `get()` of a live instance."""


def main() -> None:
    """Measure, print, write."""
    table = "\n".join(_table())
    print(table)
    PAGE.write_text(replace_between(PAGE.read_text(encoding="utf-8"), MARKS, table), encoding="utf-8")


def _table() -> Iterator[str]:
    yield (
        f"Fastest of {REPEATS} repeats of {USES:,} uses, {os.cpu_count()} cores, {datetime.now(UTC):%Y-%m-%d}; at most "
        f"{PROMISE_MICROSECONDS:g} microsecond is promised for `get()`.\n"
    )
    yield "| use of a live instance | microseconds |"
    yield "|---|---|"
    for name, microseconds in measured().items():
        yield f"| {name} | {microseconds:.2f} |"


def measured() -> dict[str, float]:
    """Return the microseconds that each kind of use takes."""
    with ExitStack() as stack:
        return {name: _fastest(use) for name, use in _uses(stack)}


def _uses(stack: ExitStack) -> Iterator[tuple[str, Callable[[], object]]]:
    policy = Policy(max_idle=timedelta(minutes=4), max_age=timedelta(hours=1))
    provider: ExpiringProvider[list[object]] = stack.enter_context(ExpiringProvider(list, policy=policy))
    options: ExpiringProvider[list[object]] = stack.enter_context(
        ExpiringProvider(list, policy=policy, usable=lambda _: True)
    )

    def lease() -> None:
        with provider.lease():
            pass

    def lease_checked() -> None:
        with options.lease():
            pass

    yield "`get()`", provider.get
    yield "`with lease()`", lease
    yield "`with lease()`, with `usable` checked", lease_checked


def _fastest(use: Callable[[], object]) -> float:
    use()  # the first one creates
    return min(timeit.repeat(use, number=USES, repeat=REPEATS)) / USES * 1e6


if __name__ == "__main__":
    main()
