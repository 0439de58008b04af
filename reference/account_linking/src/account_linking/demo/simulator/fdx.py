"""Plays a bank's own API in the manner of FDX: absolute amounts with a direction, and changes by time."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from account_linking.demo.kinds import every_kind
from account_linking.demo.ledger import START, moment, settled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from account_linking.demo.ledger import Item, Movement
    from account_linking.demo.simulator.world import World

KINDS = {
    "savings": "SAVINGS",
    "checking": "CHECKING",
    "credit": "CREDITCARD",
    "loan": "LOAN",
    "investment": "BROKERAGEPRODUCT",
}


class FdxError(Exception):
    """An error as the bank tells it."""

    def __init__(self, says: str, status: int = 400) -> None:
        super().__init__(says)
        self.status = status


def webhook(customer: str) -> bytes:
    """Return the body that says that a customer's transactions changed."""
    return json.dumps({"notificationType": "TRANSACTIONS_UPDATED", "customerId": customer}).encode()


def accounts(world: World, customer: str, token: str) -> dict[str, Any]:
    """Answer /customers/ID/accounts."""
    item = world.ledger.items.get(customer)
    if item is None or token != f"Bearer access-{customer}" or customer in world.login_required:
        raise FdxError("unauthorized", 401)
    rows = [{"accountId": each.id, "accountType": KINDS[each.kind], "nickname": each.kind} for each in item.accounts]
    return {"asOf": moment(world.now).isoformat(), "accounts": rows}


def transactions(world: World, account: str, asked: Mapping[str, str]) -> dict[str, Any]:
    """Answer /accounts/ID/transactions: what changed after `since`, until `until`, as it was then."""
    item = _item_of(world, account)
    since = _at(asked["since"]) if asked.get("since") else float("-inf")
    until = _at(asked["until"])
    told = [change for change in world.told(item.id) if change.at <= until]
    live = settled(told)
    changed = {each.movement.id: each.movement for each in told if each.at > since and each.movement.account == account}
    rows = [transaction(live.get(key, movement), gone=key not in live) for key, movement in changed.items()]
    offset = int(asked.get("offset", 0))
    page = rows[offset : offset + world.weather.page_rows]
    following = offset + len(page)
    world.count("pages")
    return {"page": {"nextOffset": following if following < len(rows) else None}, "transactions": page}


def _item_of(world: World, account: str) -> Item:
    for item in world.ledger.items.values():
        if any(each.id == account for each in item.accounts):
            return item
    raise FdxError("no such account", 404)


def _at(told: str) -> float:
    return (datetime.fromisoformat(told) - START).total_seconds()


def transaction(movement: Movement, *, gone: bool = False) -> dict[str, Any]:
    """Return a movement in the bank's schema."""
    kind = every_kind()[movement.kind]
    day = f"{movement.day.isoformat()}T00:00:00Z"
    return {
        "transactionId": movement.id,
        "accountId": movement.account,
        "referenceTransactionId": movement.pending_of,
        "amount": abs(movement.amount),
        "currency": movement.currency,
        "debitCreditMemo": "DEBIT" if movement.amount < 0 else "CREDIT",
        "status": "REMOVED" if gone else "PENDING" if movement.pending else "POSTED",
        "transactionTimestamp": day,
        "postedTimestamp": None if movement.pending else day,
        "description": f"{movement.text} {movement.id}",
        "payee": movement.text,
        "category": kind.yodlee[1],
        "subCategory": kind.mcc or None,
    }
