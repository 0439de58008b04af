"""Fetches an item's transactions from Plaid, all pages or none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from account_linking.errors import LoginRequired, TryLater
from account_linking.providers.model import Raw, Update
from account_linking.slices import arrays

if TYPE_CHECKING:
    from collections.abc import Iterable

    from account_linking.providers.model import Api, Element, Link
    from account_linking.slices import Slice

PAGE_ROWS = 500
"""Plaid's largest."""

RESTARTS = 5
"""How often a sync begins anew because the data changed under it. Each page is one more chance for it to happen."""

MUTATED = "TRANSACTIONS_SYNC_MUTATION_DURING_PAGINATION"
OK = 200


class _Mutated(Exception):
    """The data changed between two pages: what was fetched so far is worth nothing."""


def fetch(element: Element, link: Link, cursor: str, api: Api) -> Update:
    """Return everything since `cursor`. Begun anew from the first page's cursor whenever the data changed meanwhile."""
    for _ in range(RESTARTS):
        try:
            return _pages(link, cursor, api)
        except _Mutated:
            continue
    raise TryLater(f"Item {element.item} changed {RESTARTS} times while it was read.")


def _pages(link: Link, cursor: str, api: Api) -> Update:
    records: list[Raw] = []
    accounts: dict[str, Raw] = {}
    more = True
    while more:
        body = _page(link, cursor, api)
        found = arrays(body, "added", "modified", "removed", "accounts")
        records += _raws((*found["added"], *found["modified"]))
        records += _raws(found["removed"], op="DELETE")
        accounts |= {each.value["account_id"]: _account(each) for each in found["accounts"]}
        told = json.loads(body)
        cursor, more = told["next_cursor"], told["has_more"]
    return Update((*accounts.values(), *records), cursor)


def _page(link: Link, cursor: str, api: Api) -> bytes:
    asked = {"access_token": link.token, "cursor": cursor, "count": PAGE_ROWS}
    answer = api.call("POST", "/transactions/sync", json=asked)
    if answer.status == OK:
        return answer.body
    code = _code(answer.body)
    if code == MUTATED:
        raise _Mutated
    if code == "ITEM_LOGIN_REQUIRED":
        raise LoginRequired(f"The bank of item {link.item} wants its holder to log in again.")
    raise TryLater(f"Plaid answered {answer.status} ({code}) for item {link.item}.")


def _code(body: bytes) -> str:
    try:
        told: Any = json.loads(body)
        return str(told.get("error_code", ""))
    except (ValueError, AttributeError):
        return f"not JSON: {body[:80]!r}"


def _raws(found: Iterable[Slice], op: Literal["UPSERT", "DELETE"] = "UPSERT") -> list[Raw]:
    return [
        Raw(entity="transactions", account=str(each.value.get("account_id", "")), value=each.text, op=op)
        for each in found
    ]


def _account(each: Slice) -> Raw:
    return Raw(entity="accounts", account=each.value["account_id"], value=each.text)
