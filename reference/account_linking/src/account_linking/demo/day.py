"""Plays a simulated day: things happen, quarter hour by quarter hour, and webhooks tell of them."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from account_linking.demo.history import LINKED_AT, a_day

if TYPE_CHECKING:
    from collections.abc import Callable

    from account_linking.demo.ledger import Change
    from account_linking.demo.stage import Stage

QUARTER_SECONDS = 900.0
QUARTERS = 96


def link(stage: Stage) -> None:
    """Announce the history of every item, as right after it was linked, and wait until it is fetched."""
    stage.announce(stage.world.ledger.items, since=LINKED_AT)
    stage.handled()


def play(
    stage: Stage,
    *,
    seed: int,
    per_item: int,
    lasts_seconds: float,
    quiet: Callable[[str, int], bool] = lambda _item, _quarter: False,
    progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Play a day in `lasts_seconds`. What is `quiet` (item, quarter) happens later, when it no longer is."""
    changes = a_day(stage.world.ledger, seed, per_item=per_item, lasts=QUARTERS * QUARTER_SECONDS)
    began = time.monotonic()
    waiting: list[Change] = []
    for quarter in range(QUARTERS):
        stage.check()
        _wait_until(began + quarter * lasts_seconds / QUARTERS)
        since, until = quarter * QUARTER_SECONDS, (quarter + 1) * QUARTER_SECONDS
        due = [*waiting, *(change for change in changes if since <= change.at < until)]
        waiting = [change for change in due if quiet(change.item, quarter)]
        # What waited happens at the end of its quiet time, or no window of the provider's would show it.
        now = [replace(change, at=max(change.at, since)) for change in due if not quiet(change.item, quarter)]
        stage.world.happen(now)
        stage.world.now = until
        if now:
            stage.announce({change.item for change in now}, since=since)
        progress(f"{quarter // 4:02}:{quarter % 4 * 15:02}")


def _wait_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))  # reason: the simulated clock
