"""The hourly Lambda function that requests fetches for items without recent webhooks: webhooks get lost."""

from __future__ import annotations

import logging
import os
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from account_linking import fetch_tasks
from account_linking.providers import every_provider
from account_linking.requester.handler import RESPONSE_MARGIN, shared_publisher
from account_linking.requester.worker import Outgoing
from account_linking.store import open_store
from account_linking.topics import FETCH_TASKS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from account_linking.store import Store

LOG = logging.getLogger(__name__)

STALE_AFTER = timedelta(hours=12)
"""Most banks send webhooks once or twice a day. An item that was not synced for longer may have lost one."""


def handler(_event: Mapping[str, Any], context: Any) -> dict[str, int]:  # noqa: ANN401 - the platform's own object
    """Publish the fetch tasks of every item that was not synced for ACCOUNT_LINKING_STALE_SECONDS."""
    timeout = timedelta(milliseconds=context.get_remaining_time_in_millis()) - RESPONSE_MARGIN
    stale_after = timedelta(seconds=float(os.environ.get("ACCOUNT_LINKING_STALE_SECONDS", STALE_AFTER.total_seconds())))
    outgoing = list(missed_fetch_tasks(open_store(os.environ), now=time.time(), stale_after=stale_after))
    shared_publisher()(outgoing, timeout=timeout)
    LOG.info("requested %s fetch tasks of items without recent webhooks", len(outgoing))
    return {"elements": len(outgoing)}


def missed_fetch_tasks(store: Store, *, now: float, stale_after: timedelta = STALE_AFTER) -> Iterator[Outgoing]:
    """Yield the fetch tasks of each item that was last synced longer than `stale_after` ago."""
    for claim in store.stale(before=now - stale_after.total_seconds()):
        provider = every_provider()[claim.link.provider]
        for task in provider.missed_fetch_tasks(claim.link, claim.cursor, datetime.fromtimestamp(now, UTC)):
            yield Outgoing(topic=FETCH_TASKS, key=fetch_tasks.key(task), value=fetch_tasks.dump(task))
