"""Plaid's public keys by id, known and unknown ones, so that a forged token costs Plaid no call."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from account_linking.errors import WebhookRefused
from account_linking.requester.limits import TokenBucket

if TYPE_CHECKING:
    from collections.abc import Callable

KEY_CACHE_SECONDS = 3600
"""How long a public key is cached: Plaid may have revoked it since."""

UNKNOWN_KEY_CACHE_SECONDS = 600
"""How long an unknown key id is cached as unknown. A real new key is announced by Plaid's next retry at the latest."""

NEW_KEYS_AT_ONCE = 5
"""Plaid has one or two keys at a time. More ids that were never seen are made up."""

SECONDS_PER_NEW_KEY = 10.0
"""Made-up ids cost at most six calls a minute, and the memory for an hour of them."""

KEY_TIMEOUT_SECONDS = 6.0
"""How long a webhook waits for a key that another one is fetching: longer than the call's own timeout of 5 s."""


class UnknownKey(WebhookRefused):
    """Plaid has no such key."""


@dataclass(frozen=True, slots=True)
class _Entry:
    key: dict[str, Any] | None
    until: float


@dataclass(slots=True)
class KeyCache:
    """Public keys by id. `fetch_key` raises UnknownKey where Plaid has no such key, else WebhookRefused with 503."""

    fetch_key: Callable[[str], dict[str, Any]]
    now: Callable[[], float]
    _entries: dict[str, _Entry] = field(default_factory=dict)
    _in_flight: dict[str, Future[dict[str, Any]]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _bucket: TokenBucket = field(init=False)

    def __post_init__(self) -> None:
        self._bucket = TokenBucket(1 / SECONDS_PER_NEW_KEY, burst=NEW_KEYS_AT_ONCE, now=self.now)

    def get(self, key_id: str) -> dict[str, Any]:
        """Return a key that has not expired; WebhookRefused if there is none. Copies at once share one call."""
        with self._lock:
            entry = self._entries.get(key_id)
            if entry is not None and self.now() < entry.until:
                return _usable(key_id, entry.key)
            future = self._in_flight.get(key_id)
            if is_first := future is None:
                self._limit(entry)
                future = self._in_flight[key_id] = Future()
        if is_first:
            self._fetch(key_id, future)
        try:
            return _usable(key_id, future.result(KEY_TIMEOUT_SECONDS))
        except TimeoutError as error:
            raise WebhookRefused(f"Key {key_id} did not come in {KEY_TIMEOUT_SECONDS:g} s.", status=503) from error

    def _limit(self, entry: _Entry | None) -> None:
        """Refuse to look up one more id that was never a key. A known key is always fetched again."""
        if entry is not None and entry.key is not None:
            return
        if self._bucket.take() > 0:
            self._bucket.give_back()
            raise WebhookRefused("Too many tokens with unknown key ids: no more are looked up for now.", status=503)

    def _fetch(self, key_id: str, future: Future[dict[str, Any]]) -> None:
        """Fetch a key into the cache and into `future`; an outage is not cached."""
        try:
            key = self.fetch_key(key_id)
            self._store(key_id, _Entry(key, self.now() + KEY_CACHE_SECONDS))
            future.set_result(key)
        except UnknownKey as error:
            self._store(key_id, _Entry(None, self.now() + UNKNOWN_KEY_CACHE_SECONDS))
            future.set_exception(error)
        except BaseException as error:  # noqa: BLE001 - every waiting webhook must get it
            self._store(key_id, None)
            future.set_exception(error)

    def _store(self, key_id: str, entry: _Entry | None) -> None:
        with self._lock:
            del self._in_flight[key_id]
            if entry is None:
                return
            now = self.now()
            self._entries = {name: each for name, each in self._entries.items() if each.key or now < each.until}
            self._entries[key_id] = entry


def _usable(key_id: str, key: dict[str, Any] | None) -> dict[str, Any]:
    if key is None:
        raise UnknownKey(f"Plaid has no key {key_id}.")
    if key.get("expired_at") is not None:
        raise WebhookRefused(f"Key {key_id} has expired.")
    return key
