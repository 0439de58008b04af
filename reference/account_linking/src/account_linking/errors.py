"""Every error that the application raises on purpose.

AccountLinkingError          the base class
├── WebhookRefused           the webhook failed verification; carries the HTTP status
├── TryLater                 a retry may succeed: rate limit, outage, or another worker holds the item's claim
├── LoginRequired            the account's holder must log in again; not retried
├── InvalidSettings          a setting is missing or malformed
├── CannotUnseal             a sealed value was altered or moved, or its key is missing
└── Poison                   a record that can never succeed; goes to the dead-letter topic at once
"""

from __future__ import annotations


class AccountLinkingError(Exception):
    """The base class. `str()` of an error is a sentence for the log."""


class WebhookRefused(AccountLinkingError):
    """The webhook failed verification. The sender gets the HTTP status only; the reason goes to the log."""

    def __init__(self, reason: str, *, status: int = 401) -> None:
        super().__init__(reason)
        self.status = status


class TryLater(AccountLinkingError):
    """The event may succeed on a retry."""


class LoginRequired(AccountLinkingError):
    """The account's holder must log in again."""


class Poison(AccountLinkingError):
    """The record can never succeed, however often it is retried."""


class InvalidSettings(AccountLinkingError):
    """A setting is missing or malformed. The sentence names the setting, and no secret."""


class CannotUnseal(AccountLinkingError):
    """A sealed value does not open. The sentence names the item and the key, and neither token nor key."""
