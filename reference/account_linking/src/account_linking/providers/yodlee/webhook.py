"""Yodlee's webhook: unsigned, one for many users. Each user becomes an element."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from account_linking.errors import Poison
from account_linking.providers import unsigned
from account_linking.providers.model import Element

if TYPE_CHECKING:
    from collections.abc import Iterator

verifier = partial(unsigned.verifier, prefix="YODLEE")

RELATION = "getUserData"
PATH = "dataExtracts/userData"


def elements(body: bytes) -> tuple[Element, ...]:
    """Return one element for each user and link; none for events other than DATA_UPDATES."""
    try:
        event = json.loads(body)["event"]
        return tuple(_elements(event["data"])) if str(event["info"]).startswith("DATA_UPDATES") else ()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Poison(f"The body is no Yodlee webhook: {error!r}; it begins with {body[:80]!r}.") from error


def _elements(data: dict[str, Any]) -> Iterator[Element]:
    for each in data["userData"]:
        user = str(each["user"]["loginName"])
        for link in each["links"]:
            if link["rel"] == RELATION:
                yield Element(provider="yodlee", item=user, link=_window(str(link["href"]), user))


def _window(link: str, user: str) -> str:
    """Return the link's window as a query built here: a webhook must not choose the URL, nor the user."""
    parts = urlsplit(link)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    if parts.scheme or parts.netloc or parts.path.lstrip("/") != PATH or query.get("loginName") != user:
        raise ValueError(f"the link {link!r} is not to {PATH} of user {user}")
    return f"fromDate={query['fromDate']}&toDate={query['toDate']}"
