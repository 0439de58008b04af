"""Makes ledgers up: months of history of some households, and a day in which things happen. One seed, one ledger."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING

from account_linking.demo.kinds import every_kind
from account_linking.demo.ledger import START, Account, Change, Item, Ledger, Movement, posted, settled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

LINKED_AT = -1800.0
"""When the items were linked: half an hour before the day. All history is told at that moment."""

CURRENCIES = ("USD", "EUR", "GBP", "JPY")
DAILY = ("groceries", "restaurant", "shop", "travel", "cash", "refund", "odd", "friend")
MONTHLY = ("salary", "rent", "power", "loan", "invest", "fee", "tax", "interest")
BY_CARD = 0.5
"""The share of purchases that are paid with the card."""

GROWN = 0.3
"""The share of pending movements that post with another amount, as with a tip."""

PURCHASES = 18
"""A month's daily movements: what a person's statement shows, less the small ones."""


def households(seed: int, *, per_provider: int, providers: tuple[str, ...], months: int = 6) -> Ledger:
    """Return items with their history, linked and told shortly before the day."""
    random = Random(seed)
    items = [_item(number, name, random) for name in providers for number in range(per_provider)]
    ledger = Ledger({item.id: item for item in items})
    for item in items:
        found = sorted(_history(item, months, random), key=lambda movement: movement.day)
        ledger.record(Change(at=LINKED_AT, item=item.id, movement=movement) for movement in found)
    return ledger


def _item(number: int, provider: str, random: Random) -> Item:
    name = f"{provider}-{number:03}"
    currency = random.choice(CURRENCIES)
    kinds = ("checking", "savings", "credit")
    accounts = tuple(Account(id=f"{name}-{kind}", kind=kind, currency=currency) for kind in kinds)
    return Item(id=name, provider=provider, user=f"user-{name}", accounts=accounts)


def _history(item: Item, months: int, random: Random) -> Iterator[Movement]:
    for month in range(months, 0, -1):
        first = (START - timedelta(days=30 * month)).date()
        for number in range(PURCHASES):
            day = first + timedelta(days=random.randrange(30))
            yield _movement(item, f"{month}-{number}", random.choice(DAILY), day=day, random=random)
        for kind in MONTHLY:
            yield _movement(
                item, f"{month}-{kind}", kind, day=first + timedelta(days=random.randrange(28)), random=random
            )
        for kind, account in (("save", "savings"), ("settle", "credit")):
            yield from transfer(
                item, f"{month}-{kind}", kind, to=account, day=first + timedelta(days=25), random=random
            )


def _movement(item: Item, tail: str, kind: str, *, day: date, random: Random) -> Movement:
    sort = every_kind()[kind]
    by_card = sort.mcc and kind != "cash" and random.random() < BY_CARD
    account = item.accounts[2 if by_card else 0]
    return Movement(
        id=f"{item.id}-{tail}",
        account=account.id,
        kind=kind,
        amount=sort.sign * _amount(sort.low, sort.high, account.currency, random),
        day=day,
        text=random.choice(sort.merchants),
        currency=account.currency,
    )


def _amount(low: float, high: float, currency: str, random: Random) -> Decimal:
    whole = currency == "JPY"
    scaled = random.randint(int(low * 100), int(high * 100))
    return Decimal(max(1, scaled)) if whole else Decimal(max(1, scaled)) / 100


def transfer(item: Item, tail: str, kind: str, *, to: str, day: date, random: Random) -> Iterator[Movement]:
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


def a_day(ledger: Ledger, seed: int, *, per_item: int, lasts: float = 86_400.0) -> list[Change]:
    """Return what happens in a day: movements appear pending, post with another id, are corrected or taken back."""
    random = Random(seed)
    changes = [
        change
        for item in ledger.items.values()
        for change in _item_day(item, ledger, per_item=per_item, lasts=lasts, random=random)
    ]
    return sorted(changes, key=lambda change: change.at)


def _item_day(item: Item, ledger: Ledger, *, per_item: int, lasts: float, random: Random) -> Iterator[Change]:
    told = list(ledger.changes.get(item.id, ()))
    for number, at in enumerate(_moments(per_item, lasts, random)):
        for change in _one(item, settled(told), number=number, at=at, random=random):
            told.append(change)
            yield change


def _moments(several: int, lasts: float, random: Random) -> list[float]:
    """Return moments that nobody could tell beforehand, but none far from the next: one in each part of the day."""
    return [(number + random.random()) * lasts / several for number in range(several)]


def _one(item: Item, live: dict[str, Movement], *, number: int, at: float, random: Random) -> Iterator[Change]:
    waiting = [movement for movement in live.values() if movement.pending]
    known = [movement for movement in live.values() if not movement.pending]
    act = random.choices(("new", "post", "correct", "take back"), (5, 4, 1, 1))[0]
    if act == "post" and waiting:
        old = random.choice(waiting)
        tip = old.amount * (2 if random.random() < GROWN else 1)
        yield Change(at=at, item=item.id, movement=posted(old, amount=tip))
        yield Change(at=at, item=item.id, movement=old, gone=True)
    elif act == "correct" and known:
        old = random.choice(known)
        text = f"{old.text} (corrected {number})"
        yield Change(at=at, item=item.id, movement=replace(old, text=text))
    elif act == "take back" and known:
        yield Change(at=at, item=item.id, movement=random.choice(known), gone=True)
    else:
        new = _movement(item, f"day-{number}", random.choice(DAILY), day=START.date(), random=random)
        yield Change(at=at, item=item.id, movement=replace(new, pending=True))
