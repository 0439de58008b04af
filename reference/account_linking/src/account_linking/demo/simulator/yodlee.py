"""Simulates Yodlee: changes in a time window in their current state; absolute amounts; only posted transactions."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode
from zlib import crc32

from account_linking.demo.kinds import all_kinds
from account_linking.demo.ledger import START, movements_after, to_datetime

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from account_linking.demo.ledger import Account, Movement, SimulatedItem
    from account_linking.demo.simulator.banks import SimulatedBanks

LONGEST_WINDOW = timedelta(minutes=60)
OLDEST_WINDOW = timedelta(days=7)

CONTAINERS = {"checking": "bank", "savings": "bank", "credit": "creditCard", "loan": "loan", "investment": "investment"}


class YodleeError(Exception):
    """An error response of Yodlee."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


def numeric_id(name: str) -> int:
    """Return a number for one of the ledger's ids: Yodlee's ids are numbers."""
    return 10_000_000 + crc32(name.encode())


def webhook(users: Iterable[str], *, since: float, until: float) -> bytes:
    """Return the body of a webhook: these users have changes in a window."""
    window = {"fromDate": _format_time(since), "toDate": _format_time(until)}
    user_data_rows = [
        {
            "user": {"loginName": user},
            "links": [
                {
                    "methodType": "GET",
                    "rel": "getUserData",
                    "href": "dataExtracts/userData?" + urlencode({**window, "loginName": user}),
                }
            ],
        }
        for user in users
    ]
    data = {**window, "userCount": len(user_data_rows), "userData": user_data_rows}
    return json.dumps({"event": {"info": "DATA_UPDATES.USER_DATA", "data": data}}).encode()


def user_data(banks: SimulatedBanks, query: Mapping[str, str], token: str) -> tuple[dict[str, Any], str]:
    """Answer /dataExtracts/userData; the second value is the query of the next page, if there is one."""
    item = _item(banks, query["loginName"], token)
    since, until = _window(banks, query)
    changed = {
        change.movement.id: change.movement for change in banks.changes_until_now(item.id) if since <= change.at < until
    }
    live = movements_after(banks.changes_until_now(item.id))
    rows = [transaction(live.get(key, movement), item, removed=key not in live) for key, movement in changed.items()]
    rows = [row for row in rows if row]
    skip = int(query.get("skip", 0))
    page = rows[skip : skip + banks.faults.page_rows]
    next_query = {**query, "skip": str(skip + len(page))} if skip + len(page) < len(rows) else None
    document: dict[str, Any] = {"account": [_account(account) for account in item.accounts], "transaction": page}
    if not skip:
        document["totalTransactionsCount"] = len(rows)
    banks.count("pages")
    return {"userData": [{"user": {"loginName": item.id}}], **document}, urlencode(next_query) if next_query else ""


def events(banks: SimulatedBanks, query: Mapping[str, str]) -> dict[str, Any]:
    """Answer /dataExtracts/events: the users who have changes in a window."""
    since, until = _window(banks, query)
    users = [
        item.id
        for item in banks.ledger.items.values()
        if item.provider == "yodlee" and any(since <= change.at < until for change in banks.changes_until_now(item.id))
    ]
    document: dict[str, Any] = json.loads(webhook(users, since=since, until=until))
    return document


def _item(banks: SimulatedBanks, user: str, token: str) -> SimulatedItem:
    item = banks.ledger.items.get(user)
    if item is None or token != f"Bearer access-{user}" or user in banks.login_required:
        raise YodleeError("Invalid token", 401)
    return item


def _window(banks: SimulatedBanks, query: Mapping[str, str]) -> tuple[float, float]:
    since, until = (datetime.fromisoformat(query[name]) for name in ("fromDate", "toDate"))
    now = to_datetime(banks.now)
    if (
        not timedelta(0) < until - since <= LONGEST_WINDOW
        or since < now - OLDEST_WINDOW
        or until > now + timedelta(seconds=1)
    ):
        raise YodleeError(
            f"The window {query['fromDate']} to {query['toDate']} is longer than 60 minutes,"
            " older than 7 days or in the future."
        )
    return (since - START).total_seconds(), (until - START).total_seconds()


def _format_time(at: float) -> str:
    return to_datetime(at).isoformat().replace("+00:00", "Z")


def transaction(movement: Movement, item: SimulatedItem, *, removed: bool = False) -> dict[str, Any] | None:
    """Return a movement in Yodlee's schema; None for a pending movement, which most banks do not report."""
    if movement.pending:
        return None
    kind = all_kinds()[movement.kind]
    account = next(each for each in item.accounts if each.id == movement.account)
    kind_type, category, subtype = kind.yodlee
    return {
        "CONTAINER": CONTAINERS[account.kind],
        "id": numeric_id(movement.id),
        "accountId": numeric_id(account.id),
        "amount": {"amount": abs(movement.amount), "currency": movement.currency},
        "baseType": "DEBIT" if movement.amount < 0 else "CREDIT",
        "categoryType": kind_type,
        "category": category,
        "categoryId": 1,
        "highLevelCategoryId": 10000001,
        "subType": subtype,
        "status": "POSTED",
        "isDeleted": removed,
        "isManual": False,
        "date": movement.day.isoformat(),
        "transactionDate": movement.day.isoformat(),
        "postDate": movement.day.isoformat(),
        "description": {"original": f"{movement.text} {movement.id}", "simple": movement.text},
        "merchant": {"id": f"m{numeric_id(movement.text)}", "name": movement.text},
        "createdDate": movement.day.isoformat(),
    }


def _account(account: Account) -> dict[str, Any]:
    return {
        "id": numeric_id(account.id),
        "CONTAINER": CONTAINERS[account.kind],
        "accountType": account.kind.upper(),
        "accountName": account.kind.title(),
    }
