"""The check of webhooks that nobody signs: a secret in the path, and a list of who may send."""

from __future__ import annotations

import hmac
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from account_linking.errors import WebhookRefused

if TYPE_CHECKING:
    from account_linking.providers.model import Incoming, Settings, Verify

SHORTEST_SECRET = 24
"""Characters. The path is all that stands between a guess and the topic."""


def verifier(settings: Settings, *, prefix: str) -> Verify:
    """Return the check by PREFIX_WEBHOOK_SECRET and PREFIX_WEBHOOK_SOURCES (networks, by commas); both must be set."""
    secret = settings.get(f"{prefix}_WEBHOOK_SECRET", "")
    allowed = [
        ip_network(each.strip()) for each in settings.get(f"{prefix}_WEBHOOK_SOURCES", "").split(",") if each.strip()
    ]

    def verify(incoming: Incoming) -> str:
        if len(secret) < SHORTEST_SECRET:
            raise WebhookRefused(f"{prefix}_WEBHOOK_SECRET is not set, or shorter than {SHORTEST_SECRET} characters.")
        if not hmac.compare_digest(incoming.secret.encode(), secret.encode()):
            raise WebhookRefused("The secret in the path is wrong.")
        if not any(_address(incoming.source) in network for network in allowed):
            raise WebhookRefused(f"{incoming.source} is not in {prefix}_WEBHOOK_SOURCES.")
        return ""

    return verify


def _address(source: str) -> object:
    try:
        return ip_address(source)
    except ValueError as error:
        raise WebhookRefused(f"{source!r} is no address.") from error
