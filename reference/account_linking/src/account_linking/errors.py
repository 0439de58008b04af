"""Every error that the application raises on purpose.

AccountLinkingError          what went wrong and what follows from it
├── WebhookRefused           a webhook that is not what it says it is; carries the HTTP status
├── TryLater                 may succeed when the event comes again: rate limits, outages, an item in use
├── LoginRequired            only the account's holder can mend it; no retry
└── Poison                   can never succeed: goes to the dead letters at once
"""

from __future__ import annotations


class AccountLinkingError(Exception):
    """The base. `str()` of it is a sentence for the person who reads the log."""


class WebhookRefused(AccountLinkingError):
    """A webhook that is not what it says it is. The sender learns the status only; the reason is for our log."""

    def __init__(self, reason: str, *, status: int = 401) -> None:
        super().__init__(reason)
        self.status = status


class TryLater(AccountLinkingError):
    """May succeed when the event comes again."""


class LoginRequired(AccountLinkingError):
    """Only the account's holder can mend it."""


class Poison(AccountLinkingError):
    """Can never succeed."""
