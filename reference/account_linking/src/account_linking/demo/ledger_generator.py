"""Generates ledgers: months of history of some households, and the changes of a day. One seed gives one ledger."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING

from account_linking.demo.kinds import all_kinds
from account_linking.demo.ledger import (
    START,
    Account,
    BankLedger,
    Movement,
    MovementChange,
    SimulatedItem,
    movements_after,
    posted_movement,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

LINKED_AT = -1800.0
"""When the items were linked: half an hour before the day. The whole history appears at that time."""

CURRENCIES = ("USD", "EUR", "GBP", "JPY")
DAILY = ("groceries", "restaurant", "shop", "travel", "cash", "refund", "odd", "friend")
MONTHLY = ("salary", "rent", "power", "loan", "invest", "fee", "tax", "interest")
CARD_SHARE = 0.5
"""Share of purchases that are paid with the credit card."""

CHANGED_AMOUNT_SHARE = 0.3
"""Share of pending movements that post with another amount, for example with a tip."""

PURCHASES_PER_MONTH = 18
"""Purchases of a household in a month: as many as a typical statement has, without the small ones."""


def generate_households(seed: int, *, per_provider: int, providers: tuple[str, ...], months: int = 6) -> BankLedger:
    """Return items with their history, linked shortly before the day."""
    random = Random(seed)
    items = [_item(number, name, random) for name in providers for number in range(per_provider)]
    ledger = BankLedger({item.id: item for item in items})
    for item in items:
        movements = sorted(_history(item, months, random), key=lambda movement: movement.day)
        ledger.record(MovementChange(at=LINKED_AT, item=item.id, movement=movement) for movement in movements)
    return ledger


def _item(number: int, provider: str, random: Random) -> SimulatedItem:
    name = f"{provider}-{number:03}"
    currency = random.choice(CURRENCIES)
    kinds = ("checking", "savings", "credit")
    accounts = tuple(Account(id=f"{name}-{kind}", kind=kind, currency=currency) for kind in kinds)
    return SimulatedItem(id=name, provider=provider, user=f"user-{name}", accounts=accounts)


def _history(item: SimulatedItem, months: int, random: Random) -> Iterator[Movement]:
    for month in range(months, 0, -1):
        first = (START - timedelta(days=30 * month)).date()
        for number in range(PURCHASES_PER_MONTH):
            day = first + timedelta(days=random.randrange(30))
            yield _movement(item, f"{month}-{number}", random.choice(DAILY), day=day, random=random)
        for kind in MONTHLY:
            yield _movement(
                item, f"{month}-{kind}", kind, day=first + timedelta(days=random.randrange(28)), random=random
            )
        for kind, account in (("save", "savings"), ("settle", "credit")):
            yield from transfer_legs(
                item, f"{month}-{kind}", kind, to=account, day=first + timedelta(days=25), random=random
            )


def _movement(item: SimulatedItem, tail: str, kind: str, *, day: date, random: Random) -> Movement:
    spec = all_kinds()[kind]
    by_card = spec.mcc and kind != "cash" and random.random() < CARD_SHARE
    account = item.accounts[2 if by_card else 0]
    return Movement(
        id=f"{item.id}-{tail}",
        account=account.id,
        kind=kind,
        amount=spec.sign * _amount(spec.low, spec.high, account.currency, random),
        day=day,
        text=random.choice(spec.merchants),
        currency=account.currency,
    )


def _amount(low: float, high: float, currency: str, random: Random) -> Decimal:
    is_whole = currency == "JPY"
    scaled = random.randint(int(low * 100), int(high * 100))
    return Decimal(max(1, scaled)) if is_whole else Decimal(max(1, scaled)) / 100


def transfer_legs(
    item: SimulatedItem, tail: str, kind: str, *, to: str, day: date, random: Random
) -> Iterator[Movement]:
    """Yield both legs of a transfer between a household's own accounts, a day or two apart."""
    out = _movement(item, f"{tail}-out", kind, day=day, random=random)
    account = next(account for account in item.accounts if account.kind == to)
    yield out
    yield Movement(
        id=f"{item.id}-{tail}-in",
        account=account.id,
        kind=kind,
        amount=-out.amount,
        day=day + timedelta(days=random.randrange(3)),
        text=out.text,
        currency=account.currency,
    )


def generate_day(ledger: BankLedger, seed: int, *, per_item: int, lasts: float = 86_400.0) -> list[MovementChange]:
    """Return the changes of a day: movements appear pending, post with another id, are corrected or removed."""
    random = Random(seed)
    changes = [
        change
        for item in ledger.items.values()
        for change in _item_day(item, ledger, per_item=per_item, lasts=lasts, random=random)
    ]
    return sorted(changes, key=lambda change: change.at)


def _item_day(
    item: SimulatedItem, ledger: BankLedger, *, per_item: int, lasts: float, random: Random
) -> Iterator[MovementChange]:
    changes = list(ledger.changes.get(item.id, ()))
    for number, at in enumerate(_random_times(per_item, lasts, random)):
        for change in _random_change(item, movements_after(changes), number=number, at=at, random=random):
            changes.append(change)
            yield change


def _random_times(count: int, lasts: float, random: Random) -> list[float]:
    """Return random times, one in each of `count` equal parts of the day, so that no gap is long."""
    return [(number + random.random()) * lasts / count for number in range(count)]


def _random_change(
    item: SimulatedItem, live: dict[str, Movement], *, number: int, at: float, random: Random
) -> Iterator[MovementChange]:
    pending = [movement for movement in live.values() if movement.pending]
    posted = [movement for movement in live.values() if not movement.pending]
    action = random.choices(("new", "post", "correct", "remove"), (5, 4, 1, 1))[0]
    if action == "post" and pending:
        old = random.choice(pending)
        amount = old.amount * (2 if random.random() < CHANGED_AMOUNT_SHARE else 1)
        yield MovementChange(at=at, item=item.id, movement=posted_movement(old, amount=amount))
        yield MovementChange(at=at, item=item.id, movement=old, removed=True)
    elif action == "correct" and posted:
        old = random.choice(posted)
        text = f"{old.text} (corrected {number})"
        yield MovementChange(at=at, item=item.id, movement=replace(old, text=text))
    elif action == "remove" and posted:
        yield MovementChange(at=at, item=item.id, movement=random.choice(posted), removed=True)
    else:
        new = _movement(item, f"day-{number}", random.choice(DAILY), day=START.date(), random=random)
        yield MovementChange(at=at, item=item.id, movement=replace(new, pending=True))
