"""The bank's webhook: names the customer whose transactions changed."""

from __future__ import annotations

from functools import partial

from account_linking.bodies import parse_object, text
from account_linking.providers import unsigned
from account_linking.providers.model import FetchTask

verifier = partial(unsigned.verifier, prefix="FDX")


def fetch_tasks(body: bytes) -> tuple[FetchTask, ...]:
    """Return the customer to fetch; none for other notifications."""
    notification = parse_object(body)
    kind, customer = text(notification, "notificationType"), text(notification, "customerId")
    return (FetchTask(provider="fdx", item=customer),) if kind == "TRANSACTIONS_UPDATED" else ()
