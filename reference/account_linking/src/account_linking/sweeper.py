"""The Lambda function that runs once an hour and asks for what no webhook announced. Webhooks get lost."""

from __future__ import annotations

import logging
import os
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from account_linking import elements
from account_linking.names import ELEMENTS
from account_linking.providers import every_provider
from account_linking.requester.handler import MARGIN, shared_publish
from account_linking.requester.worker import Outgoing
from account_linking.store import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from account_linking.store import Store

LOG = logging.getLogger(__name__)

QUIET = timedelta(hours=12)
"""Most banks tell their news once or twice a day. An item that was silent for longer may have been forgotten."""


def handler(_event: Mapping[str, Any], context: Any) -> dict[str, int]:  # noqa: ANN401 - the platform's own object
    """Publish an element for everything that may have been missed."""
    within = timedelta(milliseconds=context.get_remaining_time_in_millis()) - MARGIN
    quiet = timedelta(seconds=float(os.environ.get("ACCOUNT_LINKING_QUIET_SECONDS", QUIET.total_seconds())))
    found = list(missed(SqliteStore(os.environ["ACCOUNT_LINKING_STORE"]), now=time.time(), quiet=quiet))
    shared_publish()(found, within=within)
    LOG.info("asked for %s elements that no webhook announced", len(found))
    return {"elements": len(found)}


def missed(store: Store, *, now: float, quiet: timedelta = QUIET) -> Iterator[Outgoing]:
    """Yield what to fetch of each item that was not synced for so long."""
    for claim in store.stale(before=now - quiet.total_seconds()):
        provider = every_provider()[claim.link.provider]
        for element in provider.missed(claim.link, claim.cursor, datetime.fromtimestamp(now, UTC)):
            yield Outgoing(topic=ELEMENTS, key=elements.key(element), value=elements.dump(element))
