"""Fetches a user's changes from Yodlee, in a window and in the missing windows before it: all pages, or raises."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import parse_qsl, urlsplit

from account_linking.errors import LoginRequired, Poison, TryLater
from account_linking.json_slices import arrays
from account_linking.providers.model import FetchResult, FetchTask, RawRecord
from account_linking.providers.yodlee.fetched_range import FetchedRange, FetchWindow, missing_windows

if TYPE_CHECKING:
    from datetime import datetime

    from account_linking.json_slices import JsonSlice
    from account_linking.providers.model import Api, ApiResponse, LinkedItem

LOG = logging.getLogger(__name__)

MAX_MISSING_WINDOWS = 24
"""Maximum of windows that a fetch adds to its own: a day, in a second at the rate limit. The next fetch continues."""

ERROR_CODE = re.compile(rb'"errorCode"\s*:\s*"(Y\d{3})"')
ERROR_BODY_BYTES = 10_000
"""An error of Yodlee's has some hundred bytes."""

OK = 200
BAD_REQUEST = 400
UNAUTHORIZED = 401
MAX_PAGES = 200
"""A window of an hour has at most a few pages of 500 rows. The limit ends a `next` link that leads to itself."""


class _WindowRefused(Poison):
    """Yodlee refuses a window, for example because it is older than 7 days."""


@dataclass(slots=True)
class _Fetched:
    """The records of the windows that were fetched so far. An account is in every response: the last one counts."""

    accounts: dict[str, RawRecord]
    transactions: list[RawRecord]

    def result(self, covered: FetchedRange) -> FetchResult:
        return FetchResult((*self.accounts.values(), *self.transactions), str(covered))


def fetch(task: FetchTask, link: LinkedItem, cursor: str, api: Api) -> FetchResult:
    """Return the current state of the transactions that changed in the fetch task's window, or in a missing window.

    The cursor is the contiguous range of time that has been fetched. Yodlee announces nothing for a user without
    changes: a window whose webhook was lost looks like a window without changes, so all windows between are fetched.
    """
    announced = _parse_window(task)
    fetched = _Fetched({}, [])
    _fetch_window(announced, link, api, fetched)
    covered = _recent_range(cursor, link, now=announced.until) or FetchedRange(announced.since, announced.since)
    newest = max(announced.until, covered.end)
    for window in missing_windows(covered, until=announced.since, now=newest)[:MAX_MISSING_WINDOWS]:
        try:
            _fetch_window(window, link, api, fetched)
        except _WindowRefused as error:
            LOG.warning("%s A later fetch of item %s requests it again.", error, link.item)
            break
        covered = covered.extend(window)
    return fetched.result(covered.extend(announced))


def _recent_range(cursor: str, link: LinkedItem, *, now: datetime) -> FetchedRange | None:
    covered = FetchedRange.parse(cursor)
    recent = covered and covered.recent(now)
    if covered and recent and covered != recent:
        LOG.warning("Yodlee has no changes of item %s from %s to %s any more.", link.item, covered.end, recent.begin)
    return recent


def missed_fetch_tasks(link: LinkedItem, cursor: str, now: datetime) -> tuple[FetchTask, ...]:
    """Return the windows of the last 7 days that were not fetched, an hour each: first those after the range."""
    covered = _recent_range(cursor, link, now=now) or FetchedRange(now, now)
    return tuple(
        FetchTask(provider="yodlee", item=link.item, link=str(window))
        for window in missing_windows(covered, until=now, now=now)
    )


def _parse_window(task: FetchTask) -> FetchWindow:
    try:
        return FetchWindow.parse(dict(parse_qsl(task.link)))
    except (KeyError, ValueError) as error:
        raise Poison(f"The fetch task of item {task.item} has no window.") from error


def _fetch_window(window: FetchWindow, link: LinkedItem, api: Api, fetched: _Fetched) -> None:
    page: dict[str, str] | None = {**window.query(), "loginName": link.item}
    for _ in range(MAX_PAGES):
        response = api.call(
            "GET", "/dataExtracts/userData", params=page, headers={"Authorization": f"Bearer {link.token}"}
        )
        _check(response, link, window)
        page_arrays = arrays(response.body, "transaction", "account")
        fetched.transactions += [_transaction_record(each) for each in page_arrays["transaction"]]
        fetched.accounts |= {each.name("id") or each.text: _account_record(each) for each in page_arrays["account"]}
        page = _next_page(response)
        if page is None:
            return
    raise Poison(f"Yodlee returned more than {MAX_PAGES} pages for a window of item {link.item}.")


def _check(response: ApiResponse, link: LinkedItem, window: FetchWindow) -> None:
    if response.status == UNAUTHORIZED:
        raise LoginRequired(f"Yodlee no longer accepts the token of item {link.item}.")
    if response.status == BAD_REQUEST:
        raise _WindowRefused(f"Yodlee refuses the window {window}: {_error_code(response.body)}.")
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
