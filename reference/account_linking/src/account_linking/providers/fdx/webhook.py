"""The bank's webhook: names the customer whose transactions changed."""

from __future__ import annotations

import json
from functools import partial

from account_linking.errors import Poison
from account_linking.providers import unsigned
from account_linking.providers.model import Element

verifier = partial(unsigned.verifier, prefix="FDX")


def elements(body: bytes) -> tuple[Element, ...]:
    """Return the customer to fetch; none for other notifications."""
    try:
        notification = json.loads(body)
        kind, customer = notification["notificationType"], str(notification["customerId"])
    except (ValueError, KeyError, TypeError) as error:
        raise Poison(f"The body is no FDX notification: {error!r}; it begins with {body[:80]!r}.") from error
    return (Element(provider="fdx", item=customer),) if kind == "TRANSACTIONS_UPDATED" else ()
