"""The bank says which customer's transactions changed."""

from __future__ import annotations

import json
from functools import partial

from account_linking.errors import Poison
from account_linking.providers import unsigned
from account_linking.providers.model import Element

verifier = partial(unsigned.verifier, prefix="FDX")


def elements(body: bytes) -> tuple[Element, ...]:
    """Return the customer to fetch; other notifications ask for nothing."""
    try:
        told = json.loads(body)
        kind, customer = told["notificationType"], str(told["customerId"])
    except (ValueError, KeyError, TypeError) as error:
        raise Poison(f"No notification: {error!r}; it begins {body[:80]!r}.") from error
    return (Element(provider="fdx", item=customer),) if kind == "TRANSACTIONS_UPDATED" else ()
