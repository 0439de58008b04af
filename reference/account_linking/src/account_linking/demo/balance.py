"""Holds the tables against the ledger: every transaction exactly once, every amount to the cent."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from account_linking.demo.simulator import yodlee

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from account_linking.demo.ledger import Item, Ledger, Movement
    from account_linking.tables.layout import Layout

CENT = Decimal("0.0001")
"""The tables keep four places; the ledger's two are compared in full."""


@dataclass(frozen=True, slots=True)
class Balance:
    """What differs. `amounts` are transactions that both have, with different amounts."""

    transactions: int
    missing: tuple[str, ...]
    surplus: tuple[str, ...]
    doubled: tuple[str, ...]
    amounts: tuple[str, ...]
    total: Mapping[str, Decimal]

    @property
    def even(self) -> bool:
        """Whether nothing differs."""
        return not (self.missing or self.surplus or self.doubled or self.amounts)


def expected(ledger: Ledger, at: float) -> dict[str, tuple[Decimal, str | None]]:
    """Return what the tables are to hold at a moment, from the ledger alone: amount and currency by transaction."""
    return {
        f"{item.provider}|{named(item, movement)}": (movement.amount.quantize(CENT), movement.currency)
        for item in ledger.items.values()
        for movement in ledger.live(item.id, at).values()
        if not (item.provider == "yodlee" and movement.pending)  # it shows only what has posted
    }


def named(item: Item, movement: Movement) -> str:
    """Return the id by which the item's provider knows a movement."""
    if item.provider != "yodlee":
        return movement.id
    kind = next(account.kind for account in item.accounts if account.id == movement.account)
    return f"{yodlee.CONTAINERS[kind]}:{yodlee.number(movement.id)}"


def balance(spark: SparkSession, layout: Layout, ledger: Ledger, *, at: float) -> Balance:
    """Compare silver with the ledger."""
    silver = spark.read.format("delta").load(layout.path("silver")).where("not is_deleted")
    rows = silver.selectExpr("concat_ws('|', provider, provider_transaction_id)", "amount", "currency").collect()
    found = {row[0]: (row[1], row[2]) for row in rows}
    wanted = expected(ledger, at)
    names = [row[0] for row in rows]
    total: dict[str, Decimal] = {}
    for amount, currency in found.values():
        total[str(currency)] = total.get(str(currency), Decimal(0)) + amount
    return Balance(
        transactions=len(rows),
        missing=tuple(sorted(wanted.keys() - found.keys())),
        surplus=tuple(sorted(found.keys() - wanted.keys())),
        doubled=tuple(sorted({name for name in names if names.count(name) > 1})) if len(names) > len(found) else (),
        amounts=tuple(sorted(name for name in wanted.keys() & found.keys() if wanted[name] != found[name])),
        total=total,
    )
