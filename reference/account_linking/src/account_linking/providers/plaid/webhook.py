"""Verifies Plaid's webhooks on the raw bytes, and returns the item that they announce."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from typing import TYPE_CHECKING, Any

from account_linking.errors import Poison, WebhookRefused
from account_linking.providers.model import Element

if TYPE_CHECKING:
    from collections.abc import Callable

    from account_linking.providers.model import IncomingWebhook, Settings, Verify

ALGORITHM = "ES256"
"""Pinned: a token with another algorithm, or none, is forged."""

MAX_AGE_SECONDS = 300
"""Plaid's own limit for the age of `iat`."""

CLOCK_SKEW_SECONDS = 30
"""How far the sender's clock may be ahead of the receiver's."""

KEY_CACHE_SECONDS = 3600
"""How long a public key is cached: Plaid may have revoked it since."""

FETCHING_CODES = {
    "SYNC_UPDATES_AVAILABLE",
    "INITIAL_UPDATE",
    "HISTORICAL_UPDATE",
    "DEFAULT_UPDATE",
    "TRANSACTIONS_REMOVED",
}
"""Webhook codes that announce data to fetch. Plaid still sends the older codes beside SYNC_UPDATES_AVAILABLE."""


class KeyCache:
    """Plaid's public keys by id; each is fetched at most once an hour."""

    def __init__(self, fetch_key: Callable[[str], dict[str, Any]], now: Callable[[], float]) -> None:
        self._fetch_key = fetch_key
        self._now = now
        self._cached: dict[str, tuple[float, dict[str, Any]]] = {}

    def get(self, key_id: str) -> dict[str, Any]:
        """Return a key that has not expired; WebhookRefused if there is none."""
        at, key = self._cached.get(key_id, (0.0, {}))
        if not key or self._now() - at > KEY_CACHE_SECONDS:
            key = self._fetch_key(key_id)
            self._cached[key_id] = (self._now(), key)
        if key.get("expired_at") is not None:
            raise WebhookRefused(f"Key {key_id} has expired.")
        return key


def verifier(settings: Settings, now: Callable[[], float] = time.time) -> Verify:
    """Return the verification, with its key cache. The token identifies a delivery: Plaid signs each anew."""
    keys = KeyCache(lambda key_id: _fetch_key(settings, key_id), now)

    def verify(incoming: IncomingWebhook) -> str:
        token = incoming.headers.get("plaid-verification", "")
        claims = _claims(token, keys)
        _check_time(claims, now())
        _check_body(claims, incoming.body)
        return token

    return verify


def _claims(token: str, keys: KeyCache) -> dict[str, Any]:
    import jwt  # the Spark jobs load this module, and have no such package

    try:
        head = jwt.get_unverified_header(token)
        if head.get("alg") != ALGORITHM or not isinstance(head.get("kid"), str):
            raise WebhookRefused(f"The token is signed with {head.get('alg')!r}, not {ALGORITHM}, or names no key.")
        key = jwt.PyJWK(keys.get(head["kid"]), ALGORITHM)
        return jwt.decode(token, key, algorithms=[ALGORITHM], options={"verify_iat": False})
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        raise WebhookRefused(f"The token has no valid signature: {error}.") from error


def _check_time(claims: dict[str, Any], now: float) -> None:
    issued = claims.get("iat")
    if not isinstance(issued, int | float) or not -CLOCK_SKEW_SECONDS <= now - issued <= MAX_AGE_SECONDS:
        raise WebhookRefused(
            f"Issued at {issued!r}, received at {now:.0f}: outside -{CLOCK_SKEW_SECONDS} to {MAX_AGE_SECONDS} s."
        )


def _check_body(claims: dict[str, Any], body: bytes) -> None:
    """Compare the hash of the raw body: one space more is another body."""
    signed_hash = str(claims.get("request_body_sha256", ""))
    if not hmac.compare_digest(signed_hash.encode(), hashlib.sha256(body).hexdigest().encode()):
        raise WebhookRefused("The body is not the one that was signed.")


def _fetch_key(settings: Settings, key_id: str) -> dict[str, Any]:
    """Fetch a public key from Plaid. An unknown key is refused with 401; if Plaid sends no key, 503 makes it retry."""
    import httpx  # the same

    body = {"client_id": settings["PLAID_CLIENT_ID"], "secret": settings["PLAID_SECRET"], "key_id": key_id}
    try:
        response = httpx.post(f"{settings['PLAID_URL']}/webhook_verification_key/get", json=body, timeout=5)
    except httpx.HTTPError as error:
        raise WebhookRefused(f"Plaid did not return key {key_id}: {error}.", status=503) from error
    if response.status_code != httpx.codes.OK:
        is_unknown = response.status_code == httpx.codes.BAD_REQUEST
        raise WebhookRefused(f"Plaid has no key {key_id}: {response.text[:200]}.", status=401 if is_unknown else 503)
    key: dict[str, Any] = response.json()["key"]
    return key


def elements(body: bytes) -> tuple[Element, ...]:
    """Return the item to sync, for FETCHING_CODES. A login error is found by the sync itself."""
    try:
        webhook = json.loads(body)
        code, item = webhook["webhook_code"], str(webhook["item_id"])
    except (ValueError, KeyError, TypeError) as error:
        raise Poison(f"The body is no Plaid webhook: {error!r}; it begins with {body[:80]!r}.") from error
    return (Element(provider="plaid", item=item),) if code in FETCHING_CODES else ()
