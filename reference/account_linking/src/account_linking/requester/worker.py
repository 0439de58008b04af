"""Handles one fetch task: claims the item, fetches, publishes, moves the cursor."""

from __future__ import annotations

import json
import logging
import time
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from account_linking import fetch_tasks
from account_linking.errors import LoginRequired, Poison, TryLater
from account_linking.providers import every_provider
from account_linking.topics import ITEM_STATES, raw_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from account_linking.providers.model import Api, FetchResult, FetchTask, RawRecord
    from account_linking.store import Claim, Store

LOG = logging.getLogger(__name__)

MAX_RECORDS_PER_FETCH = 1 << 20
"""Maximum of records of one fetch. Revision = number of the claim x this + position in the fetch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """One record to publish."""

    topic: str
    key: str
    value: bytes
    headers: tuple[tuple[str, bytes], ...] = ()


class Publish(Protocol):
    """Sends records. Returns only when the brokers have acknowledged all of them; raises otherwise."""

    def __call__(self, records: Sequence[Outgoing], *, timeout: timedelta) -> None:
        """Send the records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requester:
    """The worker. `api` returns a provider's API for a deadline of the monotonic clock."""

    store: Store
    api: Callable[[str, float], Api]
    publish: Publish
    now: Callable[[], float] = time.time
    monotonic: Callable[[], float] = field(default=time.monotonic)

    def handle(self, task: FetchTask, *, timeout: timedelta) -> int:
        """Fetch, publish, and move the cursor; return the number of published records.

        The cursor moves only after publishing. If the worker dies in between, its fetch result is in the store: the
        next worker publishes it again with a higher revision before it fetches. Raises TryLater if a retry may succeed,
        Poison if none can.
        """
        deadline = self.monotonic() + timeout.total_seconds()
        claim = self._claim(task, timeout)
        try:
            published = 0
            if claim.unfinished is not None:
                published = self._publish_result(claim, claim.unfinished, deadline)
                claim = self._claim(task, timeout)
            result = self._fetch(task, claim, deadline)
            return published + self._publish_result(claim, result, deadline)
        except LoginRequired as error:
            return self._report_login_required(claim, error, deadline)
        except BaseException:
            self.store.release(claim)
            raise

    def _fetch(self, task: FetchTask, claim: Claim, deadline: float) -> FetchResult:
        """Fetch all changes, and save them in the store before they are published."""
        provider = every_provider()[task.provider]
        result = provider.fetch(task, claim.link, claim.cursor, self.api(task.provider, deadline))
        if result.records and not self.store.save_unfinished(claim, result):
            raise _claimed_meanwhile(claim)
        return result

    def _publish_result(self, claim: Claim, result: FetchResult, deadline: float) -> int:
        """Publish a fetch result and move the cursor; return the number of published records."""
        self._publish(self._records(claim, result), deadline)
        if not self.store.advance(claim, result.cursor, now=self.now()):
            raise _claimed_meanwhile(claim)
        return len(result.records)

    def _claim(self, task: FetchTask, timeout: timedelta) -> Claim:
        now = self.now()
        try:
            claim = self.store.claim(task.provider, task.item, now=now, until=now + timeout.total_seconds())
        except KeyError as error:
            raise Poison(f"No item {task.item} of {task.provider} is linked.") from error
        if claim is None:
            raise TryLater(f"Item {task.item} is claimed by another worker.")
        return claim

    def _records(self, claim: Claim, result: FetchResult) -> list[Outgoing]:
        if len(result.records) >= MAX_RECORDS_PER_FETCH:
            raise Poison(
                f"A fetch of item {claim.link.item} returned {len(result.records)} records;"
                f" fewer than {MAX_RECORDS_PER_FETCH} are allowed."
            )
        fetched = str(self.now())
        return [
            _outgoing(raw, claim, revision=claim.fencing_token * MAX_RECORDS_PER_FETCH + position, fetched=fetched)
            for position, raw in enumerate(result.records)
        ]

    def _publish(self, records: Sequence[Outgoing], deadline: float) -> None:
        left = deadline - self.monotonic()
        if left <= 0:
            raise TryLater("No time is left to publish.")
        if records:
            self.publish(records, timeout=timedelta(seconds=left))

    def _report_login_required(self, claim: Claim, error: LoginRequired, deadline: float) -> int:
        """Publish that the account's holder must log in again. No retry would help."""
        link = claim.link
        value = json.dumps({"provider": link.provider, "item": link.item, "user": link.user, "state": "login_required"})
        LOG.warning("%s", error)
        key = f"{link.provider}|{link.item}"
        self._publish([Outgoing(topic=ITEM_STATES, key=key, value=value.encode())], deadline)
        self.store.release(claim, state="login_required")
        return 1


def _claimed_meanwhile(claim: Claim) -> TryLater:
    return TryLater(f"Item {claim.link.item} was claimed by another worker meanwhile.")


def _outgoing(raw: RawRecord, claim: Claim, *, revision: int, fetched: str) -> Outgoing:
    link = claim.link
    headers = {"item": link.item, "user": link.user, "op": raw.op, "revision": str(revision), "fetched-at": fetched}
    return Outgoing(
        topic=raw_topic(link.provider, raw.entity),
        key=f"{link.provider}|{raw.account}",
        value=raw.value.encode(),
        headers=tuple((name, value.encode()) for name, value in headers.items()),
    )


def parse_fetch_task(value: bytes) -> FetchTask:
    """Parse a fetch task; Poison if it is none or its provider is unknown."""
    task = fetch_tasks.load(value)
    if task.provider not in every_provider():
        raise Poison(f"The provider {task.provider!r} is unknown.")
    return task
