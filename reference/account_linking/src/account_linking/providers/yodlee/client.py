"""Fetches a user's changes in a time window from Yodlee: all pages, or raises."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Literal
from urllib.parse import parse_qsl, urlsplit

from account_linking.errors import LoginRequired, Poison, TryLater
from account_linking.json_slices import arrays
from account_linking.providers.model import Element, FetchResult, RawRecord

if TYPE_CHECKING:
    from account_linking.json_slices import JsonSlice
    from account_linking.providers.model import Api, ApiResponse, LinkedItem

LONGEST_WINDOW = timedelta(minutes=60)
OLDEST_WINDOW = timedelta(days=7) - timedelta(minutes=5)
"""Yodlee's limit of 7 days, less 5 minutes until the request is sent."""

ERROR_CODE = re.compile(rb'"errorCode"\s*:\s*"(Y\d{3})"')
ERROR_BODY_BYTES = 10_000
"""An error of Yodlee's has some hundred bytes."""

OK = 200
BAD_REQUEST = 400
UNAUTHORIZED = 401
MAX_PAGES = 200
"""A window of an hour has at most a few pages of 500 rows. The limit ends a `next` link that leads to itself."""


def fetch(element: Element, link: LinkedItem, cursor: str, api: Api) -> FetchResult:
    """Return the current state of the window's transactions. The cursor is the latest end of any window so far."""
    window = dict(parse_qsl(element.link))
    records: list[RawRecord] = []
    accounts: dict[str, RawRecord] = {}
    page: dict[str, str] | None = {**window, "loginName": link.item}
    for _ in range(MAX_PAGES):
        response = api.call(
            "GET", "/dataExtracts/userData", params=page, headers={"Authorization": f"Bearer {link.token}"}
        )
        _check(response, link)
        page_arrays = arrays(response.body, "transaction", "account")
        records += [_transaction_record(each) for each in page_arrays["transaction"]]
        accounts |= {each.name("id") or each.text: _account_record(each) for each in page_arrays["account"]}
        page = _next_page(response)
        if page is None:
            return FetchResult((*accounts.values(), *records), max(cursor, window["toDate"]))
    raise Poison(f"Yodlee returned more than {MAX_PAGES} pages for a window of item {link.item}.")


def missed_elements(link: LinkedItem, cursor: str, now: datetime) -> tuple[Element, ...]:
    """Return the windows between the cursor and now: Yodlee allows an hour each, and none older than 7 days."""
    oldest = now - OLDEST_WINDOW
    begin = max(datetime.fromisoformat(cursor), oldest) if cursor else oldest
    hours = ceil((now - begin) / LONGEST_WINDOW)
    edges = [begin + number * LONGEST_WINDOW for number in range(hours)] + [now]
    return tuple(
        Element(provider="yodlee", item=link.item, link=f"fromDate={_format_time(since)}&toDate={_format_time(until)}")
        for since, until in pairwise(edges)
    )


def _format_time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _check(response: ApiResponse, link: LinkedItem) -> None:
    if response.status == UNAUTHORIZED:
        raise LoginRequired(f"Yodlee no longer accepts the token of item {link.item}.")
    if response.status == BAD_REQUEST:
        raise Poison(f"Yodlee refuses a window of item {link.item}: {_error_code(response.body)}.")
    if response.status != OK:
        raise TryLater(f"Yodlee answered {response.status} for item {link.item}.")


def _error_code(body: bytes) -> str:
    """Return Yodlee's error code (Y and three digits): whatever else an answer contains may be a holder's data."""
    found = ERROR_CODE.search(body[:ERROR_BODY_BYTES])
    return found[1].decode() if found else "an answer without an error code"


def _next_page(response: ApiResponse) -> dict[str, str] | None:
    """Return the query of the next page, from the Link header: `</path?query>; rel=next`."""
    for part in response.headers.get("link", "").split(","):
        target, _, relation = part.partition(";")
        if "next" in relation:
            return dict(parse_qsl(urlsplit(target.strip(" <>")).query))
    return None


def _transaction_record(each: JsonSlice) -> RawRecord:
    is_deleted = isinstance(each.value, dict) and each.value.get("isDeleted") is True
    op: Literal["UPSERT", "DELETE"] = "DELETE" if is_deleted else "UPSERT"
    return RawRecord(entity="transactions", account=each.name("accountId"), value=each.text, op=op)


def _account_record(each: JsonSlice) -> RawRecord:
    return RawRecord(entity="accounts", account=each.name("id"), value=each.text)
