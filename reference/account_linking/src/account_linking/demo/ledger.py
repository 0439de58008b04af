"""The truth that all made-up providers tell, each in its own words: what every account held at every moment."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal  # noqa: TC003 - dataclasses and mypy meet here
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

START = datetime(2026, 6, 1, tzinfo=UTC)
"""When the simulated day begins. Moments of the ledger are seconds from here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """`kind` is checking, savings, credit, loan or investment."""

    id: str
    kind: str
    currency: str = "USD"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One user's login at one bank."""

    id: str
    provider: str
    user: str
    accounts: tuple[Account, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Movement:
    """One transaction as it stands at some moment. `amount` is signed as its holder sees it: minus is out."""

    id: str
    account: str
    kind: str
    amount: Decimal
    day: date
    text: str
    currency: str | None = "USD"
    unofficial: str | None = None
    pending: bool = False
    pending_of: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """At `at` seconds a movement came, changed (same id), or went (`gone`)."""

    at: float
    item: str
    movement: Movement
    gone: bool = False


@dataclass(slots=True)
class Ledger:
    """Items and everything that ever changed in them, in order of time. Grows while time passes."""

    items: Mapping[str, Item]
    changes: dict[str, list[Change]] = field(default_factory=dict)

    def record(self, changes: Iterable[Change]) -> None:
        """Take changes in; each must not be earlier than the last one of its item."""
        for change in changes:
            self.changes.setdefault(change.item, []).append(change)

    def until(self, item: str, at: float) -> list[Change]:
        """Return an item's changes up to a moment."""
        return [change for change in self.changes.get(item, ()) if change.at <= at]

    def live(self, item: str, at: float) -> dict[str, Movement]:
        """Return what an item holds at a moment, by movement."""
        return settled(self.until(item, at))


def settled(changes: Iterable[Change]) -> dict[str, Movement]:
    """Return what is there after these changes."""
    live: dict[str, Movement] = {}
    for change in changes:
        if change.gone:
            live.pop(change.movement.id, None)
        else:
            live[change.movement.id] = change.movement
    return live


def posted(pending: Movement, *, amount: Decimal | None = None, after: timedelta = timedelta(days=1)) -> Movement:
    """Return the movement that takes a pending one's place: another id, a day later, often another amount."""
    return replace(
        pending,
        id=f"{pending.id}-posted",
        pending=False,
        pending_of=pending.id,
        amount=pending.amount if amount is None else amount,
        day=pending.day + after,
    )


def moment(at: float) -> datetime:
    """Return a ledger's moment as a time of the calendar."""
    return START + timedelta(seconds=at)
