"""Plays Yodlee: what changed in a window of time, as it is now; amounts absolute; only what has posted."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode
from zlib import crc32

from account_linking.demo.kinds import every_kind
from account_linking.demo.ledger import START, moment, settled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from account_linking.demo.ledger import Account, Item, Movement
    from account_linking.demo.simulator.world import World

LONGEST_WINDOW = timedelta(minutes=60)
OLDEST_WINDOW = timedelta(days=7)

CONTAINERS = {"checking": "bank", "savings": "bank", "credit": "creditCard", "loan": "loan", "investment": "investment"}


class YodleeError(Exception):
    """An error as Yodlee tells it."""

    def __init__(self, says: str, status: int = 400) -> None:
        super().__init__(says)
        self.status = status


def number(name: str) -> int:
    """Return the number that stands for one of the ledger's names: Yodlee's ids are numbers."""
    return 10_000_000 + crc32(name.encode())


def webhook(users: Iterable[str], *, since: float, until: float) -> bytes:
    """Return the body that says for whom something changed in a window."""
    window = {"fromDate": _told(since), "toDate": _told(until)}
    several = [
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
    data = {**window, "userCount": len(several), "userData": several}
    return json.dumps({"event": {"info": "DATA_UPDATES.USER_DATA", "data": data}}).encode()


def user_data(world: World, asked: Mapping[str, str], token: str) -> tuple[dict[str, Any], str]:
    """Answer /dataExtracts/userData; the second value is the query of the next page, if there is one."""
    item = _item(world, asked["loginName"], token)
    since, until = _window(world, asked)
    changed = {change.movement.id: change.movement for change in world.told(item.id) if since <= change.at < until}
    live = settled(world.told(item.id))
    rows = [transaction(live.get(key, movement), item, gone=key not in live) for key, movement in changed.items()]
    rows = [row for row in rows if row]
    skip = int(asked.get("skip", 0))
    page = rows[skip : skip + world.weather.page_rows]
    following = {**asked, "skip": str(skip + len(page))} if skip + len(page) < len(rows) else None
    told: dict[str, Any] = {"account": [_account(account) for account in item.accounts], "transaction": page}
    if not skip:
        told["totalTransactionsCount"] = len(rows)
    world.count("pages")
    return {"userData": [{"user": {"loginName": item.id}}], **told}, urlencode(following) if following else ""


def events(world: World, asked: Mapping[str, str]) -> dict[str, Any]:
    """Answer /dataExtracts/events: for whom something changed in a window."""
    since, until = _window(world, asked)
    users = [
        item.id
        for item in world.ledger.items.values()
        if item.provider == "yodlee" and any(since <= change.at < until for change in world.told(item.id))
    ]
    told: dict[str, Any] = json.loads(webhook(users, since=since, until=until))
    return told


def _item(world: World, user: str, token: str) -> Item:
    item = world.ledger.items.get(user)
    if item is None or token != f"Bearer access-{user}" or user in world.login_required:
        raise YodleeError("Invalid token", 401)
    return item


def _window(world: World, asked: Mapping[str, str]) -> tuple[float, float]:
    since, until = (datetime.fromisoformat(asked[name]) for name in ("fromDate", "toDate"))
    now = moment(world.now)
    if (
        not timedelta(0) < until - since <= LONGEST_WINDOW
        or since < now - OLDEST_WINDOW
        or until > now + timedelta(seconds=1)
    ):
        raise YodleeError(f"The window {asked['fromDate']} to {asked['toDate']} is too long, too old or not over.")
    return (since - START).total_seconds(), (until - START).total_seconds()


def _told(at: float) -> str:
    return moment(at).isoformat().replace("+00:00", "Z")


def transaction(movement: Movement, item: Item, *, gone: bool = False) -> dict[str, Any] | None:
    """Return a movement in Yodlee's schema; None for one that is pending, which most banks do not show."""
    if movement.pending:
        return None
    kind = every_kind()[movement.kind]
    account = next(each for each in item.accounts if each.id == movement.account)
    kind_type, category, subtype = kind.yodlee
    return {
        "CONTAINER": CONTAINERS[account.kind],
        "id": number(movement.id),
        "accountId": number(account.id),
        "amount": {"amount": abs(movement.amount), "currency": movement.currency},
        "baseType": "DEBIT" if movement.amount < 0 else "CREDIT",
        "categoryType": kind_type,
        "category": category,
        "categoryId": 1,
        "highLevelCategoryId": 10000001,
        "subType": subtype,
        "status": "POSTED",
        "isDeleted": gone,
        "isManual": False,
        "date": movement.day.isoformat(),
        "transactionDate": movement.day.isoformat(),
        "postDate": movement.day.isoformat(),
        "description": {"original": f"{movement.text} {movement.id}", "simple": movement.text},
        "merchant": {"id": f"m{number(movement.text)}", "name": movement.text},
        "createdDate": movement.day.isoformat(),
    }


def _account(account: Account) -> dict[str, Any]:
    return {
        "id": number(account.id),
        "CONTAINER": CONTAINERS[account.kind],
        "accountType": account.kind.upper(),
        "accountName": account.kind.title(),
    }
