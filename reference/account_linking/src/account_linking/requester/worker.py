"""One element, from claim to cursor."""

from __future__ import annotations

import json
import logging
import time
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from account_linking import elements
from account_linking.errors import LoginRequired, Poison, TryLater
from account_linking.names import STATES, raw_topic
from account_linking.providers import every_provider

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from account_linking.providers.model import Api, Element, Raw, Update
    from account_linking.store import Claim, Store

LOG = logging.getLogger(__name__)

POSITIONS = 1 << 20
"""How many records one fetch may bring: a revision is the claim's number times this, plus the place in the fetch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """One record to publish."""

    topic: str
    key: str
    value: bytes
    headers: tuple[tuple[str, bytes], ...] = ()


class Publish(Protocol):
    """Stores records. Returns only when every one of them is acknowledged; raises otherwise."""

    def __call__(self, records: Sequence[Outgoing], *, within: timedelta) -> None:
        """Store the records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requester:
    """What the worker is made of. `api` gives a provider's API until a deadline by the monotonic clock."""

    store: Store
    api: Callable[[str, float], Api]
    publish: Publish
    now: Callable[[], float] = time.time
    monotonic: Callable[[], float] = field(default=time.monotonic)

    def handle(self, element: Element, *, within: timedelta) -> int:
        """Fetch, publish, and move the cursor; return how many records were published.

        Publishing comes before the cursor. Whatever dies in between has left what it fetched in the store, and that is
        published again, with a higher revision, before anything is fetched. TryLater if the element is to be tried
        again, Poison if never.
        """
        deadline = self.monotonic() + within.total_seconds()
        claim = self._claim(element, within)
        try:
            published = 0
            if claim.begun is not None:
                published = self._told(claim, claim.begun, deadline)
                claim = self._claim(element, within)
            update = self._fetched(element, claim, deadline)
            return published + self._told(claim, update, deadline)
        except LoginRequired as told:
            return self._parked(claim, told, deadline)
        except BaseException:
            self.store.release(claim)
            raise

    def _fetched(self, element: Element, claim: Claim, deadline: float) -> Update:
        """Fetch what is new, and keep it in the store before anybody is told."""
        provider = every_provider()[element.provider]
        update = provider.fetch(element, claim.link, claim.cursor, self.api(element.provider, deadline))
        if update.records and not self.store.begin(claim, update):
            raise _overtaken(claim)
        return update

    def _told(self, claim: Claim, update: Update, deadline: float) -> int:
        """Publish, move the cursor, and return how many records were published."""
        self._publish(self._records(claim, update), deadline)
        if not self.store.advance(claim, update.cursor, now=self.now()):
            raise _overtaken(claim)
        return len(update.records)

    def _claim(self, element: Element, within: timedelta) -> Claim:
        now = self.now()
        try:
            claim = self.store.claim(element.provider, element.item, now=now, until=now + within.total_seconds())
        except KeyError as error:
            raise Poison(f"No {element.provider} item {element.item} is linked.") from error
        if claim is None:
            raise TryLater(f"Item {element.item} is being fetched by somebody else.")
        return claim

    def _records(self, claim: Claim, update: Update) -> list[Outgoing]:
        if len(update.records) >= POSITIONS:
            raise Poison(f"Item {claim.link.item} brought {len(update.records)} records at once.")
        fetched = str(self.now())
        return [
            _outgoing(raw, claim, revision=claim.number * POSITIONS + position, fetched=fetched)
            for position, raw in enumerate(update.records)
        ]

    def _publish(self, records: Sequence[Outgoing], deadline: float) -> None:
        left = deadline - self.monotonic()
        if left <= 0:
            raise TryLater("No time is left to publish.")
        if records:
            self.publish(records, within=timedelta(seconds=left))

    def _parked(self, claim: Claim, told: LoginRequired, deadline: float) -> int:
        """Say what the account's holder must do. No retry would help."""
        link = claim.link
        value = json.dumps({"provider": link.provider, "item": link.item, "user": link.user, "state": "login_required"})
        LOG.warning("%s", told)
        key = f"{link.provider}|{link.item}"
        self._publish([Outgoing(topic=STATES, key=key, value=value.encode())], deadline)
        self.store.release(claim, state="login_required")
        return 1


def _overtaken(claim: Claim) -> TryLater:
    return TryLater(f"Item {claim.link.item} was claimed by somebody else meanwhile.")


def _outgoing(raw: Raw, claim: Claim, *, revision: int, fetched: str) -> Outgoing:
    link = claim.link
    said = {"item": link.item, "user": link.user, "op": raw.op, "revision": str(revision), "fetched-at": fetched}
    return Outgoing(
        topic=raw_topic(link.provider, raw.entity),
        key=f"{link.provider}|{raw.account}",
        value=raw.value.encode(),
        headers=tuple((name, value.encode()) for name, value in said.items()),
    )


def element_of(value: bytes) -> Element:
    """Read an element and see to it that its provider is known; Poison otherwise."""
    element = elements.load(value)
    if element.provider not in every_provider():
        raise Poison(f"No provider is called {element.provider!r}.")
    return element
