"""Fetches an item's transactions from Plaid: all pages, or raises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from account_linking.errors import LoginRequired, TryLater
from account_linking.json_slices import arrays, page_member, parse_page
from account_linking.providers.model import FetchResult, RawRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

    from account_linking.json_slices import JsonSlice
    from account_linking.providers.model import Api, FetchTask, LinkedItem

PAGE_ROWS = 500
"""Plaid's maximum of `count`."""

MAX_RESTARTS = 5
"""How often a sync restarts because the data changed between two pages. Each page is one more chance of a change."""

MUTATION_ERROR = "TRANSACTIONS_SYNC_MUTATION_DURING_PAGINATION"
LOGIN_ERROR = "ITEM_LOGIN_REQUIRED"
ERROR_CODES = frozenset(
    {
        MUTATION_ERROR,
        LOGIN_ERROR,
        "ACCESS_NOT_GRANTED",
        "ADDITION_LIMIT_EXCEEDED",
        "INSTITUTION_DOWN",
        "INSTITUTION_NOT_RESPONDING",
        "INSTITUTION_NO_LONGER_SUPPORTED",
        "INTERNAL_SERVER_ERROR",
        "INVALID_ACCESS_TOKEN",
        "INVALID_API_KEYS",
        "INVALID_FIELD",
        "ITEM_LOCKED",
        "ITEM_NOT_FOUND",
        "ITEM_NOT_SUPPORTED",
        "NO_ACCOUNTS",
        "PLANNED_MAINTENANCE",
        "PRODUCTS_NOT_SUPPORTED",
        "PRODUCT_NOT_READY",
        "RATE_LIMIT",
        "RATE_LIMIT_EXCEEDED",
        "TRANSACTIONS_LIMIT",
        "TRANSACTIONS_SYNC_LIMIT",
        "USER_SETUP_REQUIRED",
    }
)
"""Codes of Plaid's documentation that a sync may answer with; they alone are quoted in log lines."""

OK = 200


class _ChangedDuringPagination(Exception):
    """The data changed between two pages: the pages so far are no consistent state."""


def fetch(task: FetchTask, link: LinkedItem, cursor: str, api: Api) -> FetchResult:
    """Return all changes since `cursor`. Restarts from the first page whenever the data changed meanwhile."""
    for _ in range(MAX_RESTARTS):
        try:
            return _pages(link, cursor, api)
        except _ChangedDuringPagination:
            continue
    raise TryLater(f"Item {task.item} changed {MAX_RESTARTS} times between two pages of a sync.")


def _pages(link: LinkedItem, cursor: str, api: Api) -> FetchResult:
    records: list[RawRecord] = []
    accounts: dict[str, RawRecord] = {}
    has_more = True
    while has_more:
        body = _page(link, cursor, api)
        page_arrays = arrays(body, "added", "modified", "removed", "accounts")
        records += _transaction_records((*page_arrays["added"], *page_arrays["modified"]))
        records += _transaction_records(page_arrays["removed"], op="DELETE")
        accounts |= {each.name("account_id") or each.text: _account_record(each) for each in page_arrays["accounts"]}
        page = parse_page(body)
        cursor, has_more = page_member(page, "next_cursor", str), page_member(page, "has_more", bool)
    return FetchResult((*accounts.values(), *records), cursor)


def _page(link: LinkedItem, cursor: str, api: Api) -> bytes:
    query = {"access_token": link.token, "cursor": cursor, "count": PAGE_ROWS}
    response = api.call("POST", "/transactions/sync", json=query)
    if response.status == OK:
        return response.body
    code = _error_code(response.body)
    if code == MUTATION_ERROR:
        raise _ChangedDuringPagination
    if code == LOGIN_ERROR:
        raise LoginRequired(f"The holder of item {link.item} must log in at the bank again.")
    raise TryLater(f"Plaid answered {response.status} ({code}) for item {link.item}.")


def _error_code(body: bytes) -> str:
    """Return the error code if it is on the list: whatever else an answer contains may be a holder's data."""
    try:
        code = page_member(parse_page(body), "error_code", str)
    except TryLater:
        return "no error code"
    return code if code in ERROR_CODES else "an unlisted error code"


def _transaction_records(slices: Iterable[JsonSlice], op: Literal["UPSERT", "DELETE"] = "UPSERT") -> list[RawRecord]:
    return [
        RawRecord(entity="transactions", account=each.name("account_id"), value=each.text, op=op) for each in slices
    ]


def _account_record(each: JsonSlice) -> RawRecord:
    return RawRecord(entity="accounts", account=each.name("account_id"), value=each.text)
