"""Fetches all changes in a customer's accounts since the cursor, or raises."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from account_linking.errors import LoginRequired, TryLater
from account_linking.json_slices import arrays, page_member, parse_page
from account_linking.providers.model import FetchResult, RawRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

    from account_linking.json_slices import JsonSlice
    from account_linking.providers.model import Api, FetchTask, LinkedItem

OK = 200
UNAUTHORIZED = 401


def fetch(task: FetchTask, link: LinkedItem, cursor: str, api: Api) -> FetchResult:
    """Return all changes until the time at which the bank listed the accounts; that time is the next cursor."""
    body = _get(api, link, f"/customers/{_segment(task.item)}/accounts", {})
    accounts = arrays(body, "accounts")["accounts"]
    until = page_member(parse_page(body), "asOf", str)
    records = [RawRecord(entity="accounts", account=each.name("accountId"), value=each.text) for each in accounts]
    for account in filter(None, (each.name("accountId") for each in accounts)):
        records += _changes(api, link, account, {"since": cursor, "until": until})
    return FetchResult(tuple(records), until)


def _changes(api: Api, link: LinkedItem, account: str, window: dict[str, str]) -> Iterator[RawRecord]:
    offset: str | None = "0"
    while offset is not None:
        body = _get(api, link, f"/accounts/{_segment(account)}/transactions", {**window, "offset": offset})
        yield from (_transaction_record(each, account) for each in arrays(body, "transactions")["transactions"])
        page = page_member(parse_page(body), "page", dict)
        offset = str(page["nextOffset"]) if page.get("nextOffset") else None


def _segment(name: str) -> str:
    """Return a name as one segment of a path: a name of dots would lead to another path."""
    return quote(name, safe="").replace(".", "%2E")


def _get(api: Api, link: LinkedItem, path: str, params: dict[str, str]) -> bytes:
    response = api.call("GET", path, params=params, headers={"Authorization": f"Bearer {link.token}"})
    if response.status == UNAUTHORIZED:
        raise LoginRequired(f"The bank no longer accepts the token of item {link.item}.")
    if response.status != OK:
        raise TryLater(f"The bank answered {response.status} for {path}.")
    return response.body


def _transaction_record(each: JsonSlice, account: str) -> RawRecord:
    removed = isinstance(each.value, dict) and each.value.get("status") == "REMOVED"
    return RawRecord(entity="transactions", account=account, value=each.text, op="DELETE" if removed else "UPSERT")
