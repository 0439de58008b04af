"""The ledger behind all simulated providers: the state of every account at every time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal  # noqa: TC003 - a dataclass field needs it at run time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

START = datetime(2026, 6, 1, tzinfo=UTC)
"""Start of the simulated day. The ledger's times are in seconds from here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """`kind` is checking, savings, credit, loan or investment."""

    id: str
    kind: str
    currency: str = "USD"


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedItem:
    """One user's login at one bank."""

    id: str
    provider: str
    user: str
    accounts: tuple[Account, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Movement:
    """The state of one transaction at some time. `amount` is signed from the holder's view: negative is money out."""

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
class MovementChange:
    """At `at` seconds a movement appeared, changed (same id), or was `removed`."""

    at: float
    item: str
    movement: Movement
    removed: bool = False


@dataclass(slots=True)
class BankLedger:
    """Items and all their changes in order of time. Changes are appended while the simulated day runs."""

    items: Mapping[str, SimulatedItem]
    changes: dict[str, list[MovementChange]] = field(default_factory=dict)

    def record(self, changes: Iterable[MovementChange]) -> None:
        """Append changes; none may be earlier than the last change of its item."""
        for change in changes:
            self.changes.setdefault(change.item, []).append(change)

    def until(self, item: str, at: float) -> list[MovementChange]:
        """Return an item's changes up to a time."""
        return [change for change in self.changes.get(item, ()) if change.at <= at]

    def live(self, item: str, at: float) -> dict[str, Movement]:
        """Return an item's movements at a time, by id."""
        return movements_after(self.until(item, at))


def movements_after(changes: Iterable[MovementChange]) -> dict[str, Movement]:
    """Return the movements that exist after these changes, by id."""
    live: dict[str, Movement] = {}
    for change in changes:
        if change.removed:
            live.pop(change.movement.id, None)
        else:
            live[change.movement.id] = change.movement
    return live


def posted_movement(
    pending: Movement, *, amount: Decimal | None = None, after: timedelta = timedelta(days=1)
) -> Movement:
    """Return the posted movement that replaces a pending one: another id, a day later, often another amount."""
    return replace(
        pending,
        id=f"{pending.id}-posted",
        pending=False,
        pending_of=pending.id,
        amount=pending.amount if amount is None else amount,
        day=pending.day + after,
    )


def to_datetime(at: float) -> datetime:
    """Return a time of the ledger as a datetime."""
    return START + timedelta(seconds=at)
