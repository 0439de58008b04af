"""Runs a simulated day in steps of a quarter hour: applies the ledger's changes and sends webhooks for them."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from account_linking.demo.ledger_generator import LINKED_AT, generate_day

if TYPE_CHECKING:
    from collections.abc import Callable

    from account_linking.demo.deployment import Deployment
    from account_linking.demo.ledger import MovementChange

QUARTER_SECONDS = 900.0
QUARTERS = 96


def announce_history(deployment: Deployment) -> None:
    """Send the webhooks for the history of every item, as after linking, and wait until it is fetched."""
    send_history_webhooks(deployment)
    deployment.wait_until_handled()


def send_history_webhooks(deployment: Deployment) -> None:
    """Send the webhooks for the history of every item; the workers fetch it meanwhile."""
    deployment.send_webhooks(deployment.banks.ledger.items, since=LINKED_AT)


def run(
    deployment: Deployment,
    *,
    seed: int,
    per_item: int,
    lasts_seconds: float,
    is_frozen: Callable[[str, int], bool] = lambda _item, _quarter: False,
    progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Run a day in `lasts_seconds`. Changes of an item whose worker `is_frozen` (item, quarter hour) are postponed."""
    changes = generate_day(deployment.banks.ledger, seed, per_item=per_item, lasts=QUARTERS * QUARTER_SECONDS)
    began = time.monotonic()
    postponed: list[MovementChange] = []
    for quarter in range(QUARTERS):
        deployment.check_components()
        _wait_until(began + quarter * lasts_seconds / QUARTERS)
        since, until = quarter * QUARTER_SECONDS, (quarter + 1) * QUARTER_SECONDS
        due = [*postponed, *(change for change in changes if since <= change.at < until)]
        postponed = [change for change in due if is_frozen(change.item, quarter)]
        # A postponed change gets the time at which the freeze ends: otherwise no window of Yodlee's would include it.
        due_now = [replace(change, at=max(change.at, since)) for change in due if not is_frozen(change.item, quarter)]
        deployment.banks.apply_changes(due_now)
        deployment.banks.now = until
        if due_now:
            deployment.send_webhooks({change.item for change in due_now}, since=since)
        progress(f"{quarter // 4:02}:{quarter % 4 * 15:02}")


def _wait_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))  # reason: the simulated clock
