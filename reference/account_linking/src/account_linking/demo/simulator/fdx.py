"""Simulates a bank's own API in the style of FDX: absolute amounts with a direction, changes by time."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from account_linking.demo.kinds import all_kinds
from account_linking.demo.ledger import START, movements_after, to_datetime

if TYPE_CHECKING:
    from collections.abc import Mapping

    from account_linking.demo.ledger import Movement, SimulatedItem
    from account_linking.demo.simulator.banks import SimulatedBanks

KINDS = {
    "savings": "SAVINGS",
    "checking": "CHECKING",
    "credit": "CREDITCARD",
    "loan": "LOAN",
    "investment": "BROKERAGEPRODUCT",
}


class FdxError(Exception):
    """An error response of the bank."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


def webhook(customer: str) -> bytes:
    """Return the body of a webhook: a customer's transactions changed."""
    return json.dumps({"notificationType": "TRANSACTIONS_UPDATED", "customerId": customer}).encode()


def accounts(banks: SimulatedBanks, customer: str, token: str) -> dict[str, Any]:
    """Answer /customers/ID/accounts."""
    item = banks.ledger.items.get(customer)
    if item is None or token != f"Bearer access-{customer}" or customer in banks.login_required:
        raise FdxError("unauthorized", 401)
    rows = [{"accountId": each.id, "accountType": KINDS[each.kind], "nickname": each.kind} for each in item.accounts]
    return {"asOf": to_datetime(banks.now).isoformat(), "accounts": rows}


def transactions(banks: SimulatedBanks, account: str, query: Mapping[str, str]) -> dict[str, Any]:
    """Answer /accounts/ID/transactions: the changes after `since` up to `until`, in their state at `until`."""
    item = _item_of(banks, account)
    since = _at(query["since"]) if query.get("since") else float("-inf")
    until = _at(query["until"])
    changes = [change for change in banks.changes_until_now(item.id) if change.at <= until]
    live = movements_after(changes)
    changed = {
        each.movement.id: each.movement for each in changes if each.at > since and each.movement.account == account
    }
    rows = [transaction(live.get(key, movement), removed=key not in live) for key, movement in changed.items()]
    offset = int(query.get("offset", 0))
    page = rows[offset : offset + banks.faults.page_rows]
    next_offset = offset + len(page)
    banks.count("pages")
    return {"page": {"nextOffset": next_offset if next_offset < len(rows) else None}, "transactions": page}


def _item_of(banks: SimulatedBanks, account: str) -> SimulatedItem:
    for item in banks.ledger.items.values():
        if any(each.id == account for each in item.accounts):
            return item
    raise FdxError("no such account", 404)


def _at(time: str) -> float:
    return (datetime.fromisoformat(time) - START).total_seconds()


def transaction(movement: Movement, *, removed: bool = False) -> dict[str, Any]:
    """Return a movement in the bank's schema."""
    kind = all_kinds()[movement.kind]
    day = f"{movement.day.isoformat()}T00:00:00Z"
    return {
        "transactionId": movement.id,
        "accountId": movement.account,
        "referenceTransactionId": movement.pending_of,
        "amount": abs(movement.amount),
        "currency": movement.currency,
        "debitCreditMemo": "DEBIT" if movement.amount < 0 else "CREDIT",
        "status": "REMOVED" if removed else "PENDING" if movement.pending else "POSTED",
        "transactionTimestamp": day,
        "postedTimestamp": None if movement.pending else day,
        "description": f"{movement.text} {movement.id}",
        "payee": movement.text,
        "category": kind.yodlee[1],
        "subCategory": kind.mcc or None,
    }
