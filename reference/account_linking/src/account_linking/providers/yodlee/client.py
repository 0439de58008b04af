"""Fetches what changed for a user in a window of time from Yodlee, all pages or none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from account_linking.errors import LoginRequired, Poison, TryLater
from account_linking.providers.model import Element, Raw, Update
from account_linking.slices import arrays

if TYPE_CHECKING:
    from account_linking.providers.model import Answer, Api, Link
    from account_linking.slices import Slice

LONGEST = timedelta(minutes=60)
OLDEST = timedelta(days=7) - timedelta(minutes=5)
"""Seven days, less what passes until the window is asked for."""

OK = 200
BAD = 400
LOGIN = 401
MOST_PAGES = 200
"""A window of an hour holds at most a few pages of 500; a link that leads to itself must end."""


def fetch(element: Element, link: Link, cursor: str, api: Api) -> Update:
    """Return the window's transactions as they are now. The cursor is the latest moment that any window reached."""
    asked = dict(parse_qsl(element.link))
    records: list[Raw] = []
    accounts: dict[str, Raw] = {}
    page: dict[str, str] | None = {**asked, "loginName": link.item}
    for _ in range(MOST_PAGES):
        answer = api.call(
            "GET", "/dataExtracts/userData", params=page, headers={"Authorization": f"Bearer {link.token}"}
        )
        _check(answer, link)
        found = arrays(answer.body, "transaction", "account")
        records += [_transaction(each) for each in found["transaction"]]
        accounts |= {str(each.value["id"]): _account(each) for each in found["account"]}
        page = _next(answer)
        if page is None:
            return Update((*accounts.values(), *records), max(cursor, asked["toDate"]))
    raise Poison(f"More than {MOST_PAGES} pages for {link.item} in {element.link}.")


def missed(link: Link, cursor: str, now: datetime) -> tuple[Element, ...]:
    """Return the windows between the cursor and now, an hour each: as long, and as old, as Yodlee lets them be."""
    oldest = now - OLDEST
    begin = max(datetime.fromisoformat(cursor), oldest) if cursor else oldest
    hours = ceil((now - begin) / LONGEST)
    edges = [begin + number * LONGEST for number in range(hours)] + [now]
    return tuple(
        Element(provider="yodlee", item=link.item, link=f"fromDate={_told(since)}&toDate={_told(until)}")
        for since, until in pairwise(edges)
    )


def _told(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _check(answer: Answer, link: Link) -> None:
    if answer.status == LOGIN:
        raise LoginRequired(f"Yodlee takes the token of {link.item} no longer.")
    if answer.status == BAD:
        raise Poison(f"Yodlee refuses the window: {answer.body[:200]!r}.")
    if answer.status != OK:
        raise TryLater(f"Yodlee answered {answer.status} for {link.item}.")


def _next(answer: Answer) -> dict[str, str] | None:
    """Return the query of the next page, from the Link header: `</path?query>; rel=next`."""
    for part in answer.headers.get("link", "").split(","):
        target, _, relation = part.partition(";")
        if "next" in relation:
            return dict(parse_qsl(urlsplit(target.strip(" <>")).query))
    return None


def _transaction(each: Slice) -> Raw:
    op = "DELETE" if each.value.get("isDeleted") else "UPSERT"
    return Raw(entity="transactions", account=str(each.value.get("accountId", "")), value=each.text, op=op)  # type: ignore[arg-type]  # op is one of the two


def _account(each: Slice) -> Raw:
    return Raw(entity="accounts", account=str(each.value["id"]), value=each.text)
