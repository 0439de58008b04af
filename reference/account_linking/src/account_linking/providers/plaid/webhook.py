"""Verifies Plaid's webhooks on the raw bytes, and returns the item that they announce."""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from typing import TYPE_CHECKING, Any

from account_linking.bodies import member, parse_object, text
from account_linking.errors import Poison, WebhookRefused
from account_linking.providers.model import FetchTask
from account_linking.providers.plaid.key_cache import KeyCache, UnknownKey

if TYPE_CHECKING:
    from collections.abc import Callable

    from account_linking.providers.model import IncomingWebhook, Settings, Verify

ALGORITHM = "ES256"
"""Pinned: a token with another algorithm, or none, is forged."""

MAX_AGE_SECONDS = 300
"""Plaid's own limit for the age of `iat`."""

CLOCK_SKEW_SECONDS = 30
"""How far the sender's clock may be ahead of the receiver's."""

TOKEN = re.compile(r"(?P<signed>[A-Za-z0-9_-]{1,4096}\.[A-Za-z0-9_-]{1,4096})\.[A-Za-z0-9_-]{86}")
"""An ES256 token: header and claims, which are signed, and a signature of 64 bytes. Plaid's have 500 characters."""

KEY_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Plaid's key ids are UUIDs."""

ONLY_SIGNATURE: Any = {"verify_signature": True} | dict.fromkeys(
    ("verify_exp", "verify_nbf", "verify_iat", "verify_aud", "verify_iss", "verify_sub", "verify_jti"), False
)
"""Plaid's tokens have `iat` and the body's hash, which are checked here."""

FETCHING_CODES = {
    "SYNC_UPDATES_AVAILABLE",
    "INITIAL_UPDATE",
    "HISTORICAL_UPDATE",
    "DEFAULT_UPDATE",
    "TRANSACTIONS_REMOVED",
}
"""Webhook codes that announce data to fetch. Plaid still sends the older codes beside SYNC_UPDATES_AVAILABLE."""


def verifier(settings: Settings, now: Callable[[], float] = time.time) -> Verify:
    """Return the verification, with its key cache. A delivery is identified by what was signed: Plaid signs each anew.

    The token would not do: its signature has a second form, (r, n-s), that is valid as well, and other paddings.
    """
    keys = KeyCache(lambda key_id: _fetch_key(settings, key_id), now)

    def verify(incoming: IncomingWebhook) -> str:
        token = TOKEN.fullmatch(incoming.headers.get("plaid-verification", ""))
        if token is None:
            raise WebhookRefused("The header Plaid-Verification is missing, or is no token of ES256.")
        claims = _claims(token.group(), keys)
        _check_time(claims, now())
        _check_body(claims, incoming.body)
        return hashlib.sha256(token["signed"].encode()).hexdigest()

    return verify


def _claims(token: str, keys: KeyCache) -> dict[str, Any]:
    import jwt  # the Spark jobs load this module, and have no such package

    try:
        header = jwt.get_unverified_header(token)
        key_id = header.get("kid")
        if header.get("alg") != ALGORITHM or not isinstance(key_id, str) or not KEY_ID.fullmatch(key_id):
            raise WebhookRefused(f"The token is not {ALGORITHM}, or names no key.")
        key = jwt.PyJWK(keys.get(key_id), ALGORITHM)
        return jwt.decode(token, key, algorithms=[ALGORITHM], options=ONLY_SIGNATURE)
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError, OverflowError) as error:
        raise WebhookRefused(f"The token has no valid signature: {type(error).__name__}.") from error


def _check_time(claims: dict[str, Any], now: float) -> None:
    """Compare without arithmetic on `iat`: a number of 400 digits is no float."""
    issued = claims.get("iat")
    if not isinstance(issued, int | float) or not now - MAX_AGE_SECONDS <= issued <= now + CLOCK_SKEW_SECONDS:
        raise WebhookRefused(
            f"Issued at another time than {MAX_AGE_SECONDS} s before now ({now:.0f}) to {CLOCK_SKEW_SECONDS} s after."
        )


def _check_body(claims: dict[str, Any], body: bytes) -> None:
    """Compare the hash of the raw body: one space more is another body."""
    signed_hash = str(claims.get("request_body_sha256", ""))
    if not hmac.compare_digest(signed_hash.encode(errors="replace"), hashlib.sha256(body).hexdigest().encode()):
        raise WebhookRefused("The body is not the one that was signed.")


def _fetch_key(settings: Settings, key_id: str) -> dict[str, Any]:
    """Fetch a public key from Plaid. An unknown key is refused with 401; if Plaid sends no key, 503 makes it retry."""
    import httpx  # the same

    body = {"client_id": settings["PLAID_CLIENT_ID"], "secret": settings["PLAID_SECRET"], "key_id": key_id}
    try:
        response = httpx.post(f"{settings['PLAID_URL']}/webhook_verification_key/get", json=body, timeout=5)
    except httpx.HTTPError as error:
        raise WebhookRefused(f"Plaid did not return key {key_id}: {type(error).__name__}.", status=503) from error
    if response.status_code == httpx.codes.BAD_REQUEST:
        raise UnknownKey(f"Plaid has no key {key_id}.")
    if response.status_code != httpx.codes.OK:
        raise WebhookRefused(f"Plaid answered {response.status_code} for key {key_id}.", status=503)
    try:
        return member(parse_object(response.content), "key", dict)
    except Poison as error:
        raise WebhookRefused(f"Plaid's response for key {key_id} has no key.", status=503) from error


def fetch_tasks(body: bytes) -> tuple[FetchTask, ...]:
    """Return the item to sync, for FETCHING_CODES. A login error is found by the sync itself."""
    webhook = parse_object(body)
    if text(webhook, "webhook_code") not in FETCHING_CODES:
        return ()
    return (FetchTask(provider="plaid", item=text(webhook, "item_id")),)
