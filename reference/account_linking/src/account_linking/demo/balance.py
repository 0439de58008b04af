"""Compares the tables with the ledger: every transaction exactly once, every amount to the cent."""

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

FOUR_PLACES = Decimal("0.0001")
"""The tables store four decimal places; the ledger's two are padded for the comparison."""


@dataclass(frozen=True, slots=True)
class Balance:
    """The differences between tables and ledger, by transaction. `wrong_amounts` are in both with different amounts."""

    transactions: int
    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    duplicates: tuple[str, ...]
    wrong_amounts: tuple[str, ...]
    total: Mapping[str, Decimal]

    @property
    def is_balanced(self) -> bool:
        """Whether tables and ledger agree."""
        return not (self.missing or self.unexpected or self.duplicates or self.wrong_amounts)


def expected_rows(ledger: Ledger, at: float) -> dict[str, tuple[Decimal, str | None]]:
    """Return the rows that silver must have at a time, from the ledger alone: amount and currency by transaction."""
    return {
        f"{item.provider}|{provider_transaction_id(item, movement)}": (
            movement.amount.quantize(FOUR_PLACES),
            movement.currency,
        )
        for item in ledger.items.values()
        for movement in ledger.live(item.id, at).values()
        if not (item.provider == "yodlee" and movement.pending)  # Yodlee shows only posted transactions
    }


def provider_transaction_id(item: Item, movement: Movement) -> str:
    """Return the id that the item's provider gives a movement."""
    if item.provider != "yodlee":
        return movement.id
    kind = next(account.kind for account in item.accounts if account.id == movement.account)
    return f"{yodlee.CONTAINERS[kind]}:{yodlee.numeric_id(movement.id)}"


def compare_with_ledger(spark: SparkSession, layout: Layout, ledger: Ledger, *, at: float) -> Balance:
    """Compare silver with the ledger."""
    silver = spark.read.format("delta").load(layout.path("silver")).where("not is_deleted")
    rows = silver.selectExpr("concat_ws('|', provider, provider_transaction_id)", "amount", "currency").collect()
    actual = {row[0]: (row[1], row[2]) for row in rows}
    expected = expected_rows(ledger, at)
    names = [row[0] for row in rows]
    total: dict[str, Decimal] = {}
    for amount, currency in actual.values():
        total[str(currency)] = total.get(str(currency), Decimal(0)) + amount
    return Balance(
        transactions=len(rows),
        missing=tuple(sorted(expected.keys() - actual.keys())),
        unexpected=tuple(sorted(actual.keys() - expected.keys())),
        duplicates=tuple(sorted({name for name in names if names.count(name) > 1})) if len(names) > len(actual) else (),
        wrong_amounts=tuple(sorted(name for name in expected.keys() & actual.keys() if expected[name] != actual[name])),
        total=total,
    )
