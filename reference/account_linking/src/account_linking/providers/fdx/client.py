"""Fetches what changed in a customer's accounts since the cursor, all of them or none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from account_linking.errors import LoginRequired, TryLater
from account_linking.providers.model import Raw, Update
from account_linking.slices import arrays

if TYPE_CHECKING:
    from collections.abc import Iterator

    from account_linking.providers.model import Api, Element, Link
    from account_linking.slices import Slice

OK = 200
LOGIN = 401


def fetch(element: Element, link: Link, cursor: str, api: Api) -> Update:
    """Return everything that changed until the moment at which the accounts were listed: that is the next cursor."""
    body = _get(api, link, f"/customers/{quote(element.item, safe='')}/accounts", {})
    accounts = arrays(body, "accounts")["accounts"]
    until = str(json.loads(body)["asOf"])
    records = [Raw(entity="accounts", account=str(each.value["accountId"]), value=each.text) for each in accounts]
    for account in accounts:
        records += _changes(api, link, str(account.value["accountId"]), {"since": cursor, "until": until})
    return Update(tuple(records), until)


def _changes(api: Api, link: Link, account: str, window: dict[str, str]) -> Iterator[Raw]:
    offset: str | None = "0"
    while offset is not None:
        body = _get(api, link, f"/accounts/{quote(account, safe='')}/transactions", {**window, "offset": offset})
        yield from (_transaction(each, account) for each in arrays(body, "transactions")["transactions"])
        told: dict[str, Any] = json.loads(body)["page"]
        offset = str(told["nextOffset"]) if told.get("nextOffset") else None


def _get(api: Api, link: Link, path: str, asked: dict[str, str]) -> bytes:
    answer = api.call("GET", path, params=asked, headers={"Authorization": f"Bearer {link.token}"})
    if answer.status == LOGIN:
        raise LoginRequired(f"The bank takes the token of {link.item} no longer.")
    if answer.status != OK:
        raise TryLater(f"The bank answered {answer.status} for {path}.")
    return answer.body


def _transaction(each: Slice, account: str) -> Raw:
    gone = each.value.get("status") == "REMOVED"
    return Raw(entity="transactions", account=account, value=each.text, op="DELETE" if gone else "UPSERT")
