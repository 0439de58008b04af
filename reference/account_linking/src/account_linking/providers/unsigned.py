"""Verifies unsigned webhooks: by a secret in the URL's path and a list of networks that may send."""

from __future__ import annotations

import hmac
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from account_linking.errors import WebhookRefused

if TYPE_CHECKING:
    from account_linking.providers.model import IncomingWebhook, Settings, Verify

MIN_SECRET_CHARACTERS = 24
"""Characters. The secret is the only protection against a guessed URL from an allowed network."""


def verifier(settings: Settings, *, prefix: str) -> Verify:
    """Return the verification by PREFIX_WEBHOOK_SECRET and PREFIX_WEBHOOK_SOURCES (networks, by commas)."""
    secret = settings.get(f"{prefix}_WEBHOOK_SECRET", "")
    networks = [
        ip_network(each.strip()) for each in settings.get(f"{prefix}_WEBHOOK_SOURCES", "").split(",") if each.strip()
    ]

    def verify(incoming: IncomingWebhook) -> str:
        if len(secret) < MIN_SECRET_CHARACTERS:
            raise WebhookRefused(
                f"{prefix}_WEBHOOK_SECRET is not set, or is shorter than {MIN_SECRET_CHARACTERS} characters."
            )
        if not hmac.compare_digest(incoming.secret.encode(), secret.encode()):
            raise WebhookRefused("The secret in the URL's path is wrong.")
        if not any(_address(incoming.source) in network for network in networks):
            raise WebhookRefused(f"{incoming.source} is not in {prefix}_WEBHOOK_SOURCES.")
        return ""

    return verify


def _address(source: str) -> object:
    try:
        return ip_address(source)
    except ValueError as error:
        raise WebhookRefused(f"{source!r} is no IP address.") from error
