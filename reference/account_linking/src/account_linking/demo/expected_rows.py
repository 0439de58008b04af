"""The rows that the tables must have: from the ledger and the README's words, without code of the tables.

A second statement of every provider's schema and of the generic schema. What only a fetch decides (revisions,
positions in the topics) is not here: `balance` reads it from the topics.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from account_linking.demo.kinds import all_kinds
from account_linking.demo.simulator import plaid, yodlee

if TYPE_CHECKING:
    from account_linking.demo.ledger import Account, BankLedger, Movement, SimulatedItem

FOUR_PLACES = Decimal("0.0001")
"""The tables store four decimal places; the ledger's two are padded for the comparison."""

NO_CONTENT: dict[str, Any] = dict.fromkeys(
    (
        "status",
        "raw_status",
        "amount",
        "direction",
        "currency",
        "unofficial_currency",
        "posted_date",
        "transaction_date",
        "posted_at",
        "authorized_at",
        "description_raw",
        "description_clean",
        "counterparty_name",
        "counterparty_id",
        "counterparty_type",
        "mcc",
        "payment_channel",
        "check_number",
        "pending_of",
        "category_system",
        "category_version",
        "category_primary",
        "category_detailed",
        "category_confidence",
    )
)  # fmt: skip - one group of columns a line
"""The content of a transaction, each column null: that of a deleted transaction."""


def expected_rows(ledger: BankLedger, at: float) -> dict[str, tuple[Decimal, str | None]]:
    """Return amount and currency of each transaction that the tables must have at a time, by provider and id."""
    return {
        f"{row['provider']}|{row['provider_transaction_id']}": (row["amount"], row["currency"])
        for row in expected_transactions(ledger, at)
    }


def expected_transactions(ledger: BankLedger, at: float) -> list[dict[str, Any]]:
    """Return the live transactions at a time, with keys, user, item and content."""
    return [
        transaction_row(item, movement)
        for item in ledger.items.values()
        for movement in ledger.live(item.id, at).values()
        if not (item.provider == "yodlee" and movement.pending)  # Yodlee shows only posted transactions
    ]


def expected_accounts(ledger: BankLedger) -> list[dict[str, Any]]:
    """Return the rows of `accounts`."""
    return [_account_row(item, account) for item in ledger.items.values() for account in item.accounts]


def provider_transaction_id(item: SimulatedItem, movement: Movement) -> str:
    """Return the id that the item's provider gives a movement."""
    if item.provider != "yodlee":
        return movement.id
    kind = next(account.kind for account in item.accounts if account.id == movement.account)
    return f"{yodlee.CONTAINERS[kind]}:{yodlee.numeric_id(movement.id)}"


def provider_account_id(item: SimulatedItem, account: str) -> str:
    """Return the id that the item's provider gives an account."""
    return str(yodlee.numeric_id(account)) if item.provider == "yodlee" else account


def transaction_row(item: SimulatedItem, movement: Movement) -> dict[str, Any]:
    """Return a movement's row: keys, user, item and content."""
    amount = movement.amount.quantize(FOUR_PLACES)
    own_id = provider_transaction_id(item, movement)
    pending_of = None if item.provider == "yodlee" else movement.pending_of  # Yodlee has no link to the pending one
    return {
        "provider": item.provider,
        "provider_account_id": provider_account_id(item, movement.account),
        "provider_transaction_id": own_id,
        "logical_transaction_id": pending_of or own_id,
        "user_ref": item.user,
        "item_ref": item.id,
        **NO_CONTENT,
        "status": "PENDING" if movement.pending else "POSTED",
        "amount": amount,
        "direction": "DEBIT" if amount < 0 else "CREDIT",
        "currency": movement.currency,
        "posted_date": None if movement.pending else movement.day,
        "transaction_date": movement.day,
        "description_raw": f"{movement.text} {movement.id}",
        "description_clean": movement.text,
        "counterparty_name": movement.text,
        "pending_of": pending_of,
        **{"plaid": _plaid, "yodlee": _yodlee, "fdx": _fdx}[item.provider](movement),
    }


def _plaid(movement: Movement) -> dict[str, Any]:
    primary, detailed = all_kinds()[movement.kind].plaid
    return {
        "raw_status": "true" if movement.pending else "false",
        "unofficial_currency": movement.unofficial,
        "payment_channel": "other",
        "category_system": "plaid_pfc",
        "category_version": "v2",
        "category_primary": primary,
        "category_detailed": detailed,
        "category_confidence": "HIGH",
    }


def _yodlee(movement: Movement) -> dict[str, Any]:
    kind_type, _, subtype = all_kinds()[movement.kind].yodlee
    return {
        "raw_status": "POSTED",
        "counterparty_id": f"m{yodlee.numeric_id(movement.text)}",
        "counterparty_type": "merchant",
        "category_system": "yodlee",
        "category_version": "1",
        "category_primary": kind_type,
        "category_detailed": subtype,
    }


def _fdx(movement: Movement) -> dict[str, Any]:
    kind = all_kinds()[movement.kind]
    return {
        "raw_status": "PENDING" if movement.pending else "POSTED",
        "mcc": kind.mcc or None,
        "category_system": "fdx",
        "category_version": "1",
        "category_primary": kind.yodlee[1],
    }


RAW_KINDS = {
    "plaid": {kind: "/".join(names) for kind, names in plaid.SUBTYPES.items()},
    "yodlee": {kind: f"{container}/{kind.upper()}" for kind, container in yodlee.CONTAINERS.items()},
    "fdx": {
        "savings": "SAVINGS",
        "checking": "CHECKING",
        "credit": "CREDITCARD",
        "loan": "LOAN",
        "investment": "BROKERAGEPRODUCT",
    },
}


def _account_row(item: SimulatedItem, account: Account) -> dict[str, Any]:
    return {
        "provider": item.provider,
        "provider_account_id": provider_account_id(item, account.id),
        "user_ref": item.user,
        "kind": account.kind,
        "raw_kind": RAW_KINDS[item.provider][account.kind],
        "name": account.kind if item.provider == "fdx" else account.kind.title(),
    }
