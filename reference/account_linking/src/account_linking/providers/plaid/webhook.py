"""Verifies Plaid's webhooks on the raw bytes, and says what they ask to fetch."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from typing import TYPE_CHECKING, Any

import httpx
import jwt

from account_linking.errors import Poison, WebhookRefused
from account_linking.providers.model import Element

if TYPE_CHECKING:
    from collections.abc import Callable

    from account_linking.providers.model import Incoming, Settings, Verify

ALGORITHM = "ES256"
"""Pinned: a token that names another one, or none, is forged."""

OLDEST_SECONDS = 300
"""Plaid's own rule for `iat`."""

CLOCK_SKEW_SECONDS = 30
"""How far ahead of ours the sender's clock may be."""

KEY_SECONDS = 3600
"""How long a key is believed in before it is asked for again: it may have been revoked."""

FETCHING_CODES = {
    "SYNC_UPDATES_AVAILABLE",
    "INITIAL_UPDATE",
    "HISTORICAL_UPDATE",
    "DEFAULT_UPDATE",
    "TRANSACTIONS_REMOVED",
}
"""Codes that mean that there is something to fetch. The older ones still come beside the newer."""


class Keys:
    """Plaid's public keys by id, asked for once an hour each."""

    def __init__(self, ask: Callable[[str], dict[str, Any]], now: Callable[[], float]) -> None:
        self._ask = ask
        self._now = now
        self._kept: dict[str, tuple[float, dict[str, Any]]] = {}

    def get(self, key_id: str) -> dict[str, Any]:
        """Return a key that has not expired; WebhookRefused if there is none."""
        at, key = self._kept.get(key_id, (0.0, {}))
        if not key or self._now() - at > KEY_SECONDS:
            key = self._ask(key_id)
            self._kept[key_id] = (self._now(), key)
        if key.get("expired_at") is not None:
            raise WebhookRefused(f"Key {key_id} has expired.")
        return key


def verifier(settings: Settings, now: Callable[[], float] = time.time) -> Verify:
    """Return the check, with its key cache. A sending is known again by its token: each is signed anew."""
    keys = Keys(lambda key_id: _ask(settings, key_id), now)

    def verify(incoming: Incoming) -> str:
        token = incoming.headers.get("plaid-verification", "")
        claims = _claims(token, keys)
        _check_time(claims, now())
        _check_body(claims, incoming.body)
        return token

    return verify


def _claims(token: str, keys: Keys) -> dict[str, Any]:
    try:
        head = jwt.get_unverified_header(token)
        if head.get("alg") != ALGORITHM or not isinstance(head.get("kid"), str):
            raise WebhookRefused(f"Signed with {head.get('alg')!r}, not {ALGORITHM}, or names no key.")
        key = jwt.PyJWK(keys.get(head["kid"]), ALGORITHM)
        return jwt.decode(token, key, algorithms=[ALGORITHM], options={"verify_iat": False})
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        raise WebhookRefused(f"No valid signature: {error}.") from error


def _check_time(claims: dict[str, Any], now: float) -> None:
    issued = claims.get("iat")
    if not isinstance(issued, int | float) or not -CLOCK_SKEW_SECONDS <= now - issued <= OLDEST_SECONDS:
        raise WebhookRefused(f"Issued at {issued!r}, now it is {now:.0f}.")


def _check_body(claims: dict[str, Any], body: bytes) -> None:
    """Compare the body as it came: one space more is another body."""
    told = str(claims.get("request_body_sha256", ""))
    if not hmac.compare_digest(told.encode(), hashlib.sha256(body).hexdigest().encode()):
        raise WebhookRefused("The body is not the one that was signed.")


def _ask(settings: Settings, key_id: str) -> dict[str, Any]:
    """Ask Plaid for a key. An unknown one is refused; a Plaid that does not answer is no reason to refuse for good."""
    body = {"client_id": settings["PLAID_CLIENT_ID"], "secret": settings["PLAID_SECRET"], "key_id": key_id}
    try:
        answer = httpx.post(f"{settings['PLAID_URL']}/webhook_verification_key/get", json=body, timeout=5)
    except httpx.HTTPError as error:
        raise WebhookRefused(f"Plaid did not answer for key {key_id}: {error}.", status=503) from error
    if answer.status_code != httpx.codes.OK:
        refused = answer.status_code == httpx.codes.BAD_REQUEST
        raise WebhookRefused(f"No key {key_id}: {answer.text[:200]}.", status=401 if refused else 503)
    key: dict[str, Any] = answer.json()["key"]
    return key


def elements(body: bytes) -> tuple[Element, ...]:
    """Return the item to sync, for codes that mean so. Login errors are seen by the sync itself."""
    try:
        told = json.loads(body)
        code, item = told["webhook_code"], str(told["item_id"])
    except (ValueError, KeyError, TypeError) as error:
        raise Poison(f"No Plaid webhook: {error!r}; it begins {body[:80]!r}.") from error
    return (Element(provider="plaid", item=item),) if code in FETCHING_CODES else ()
