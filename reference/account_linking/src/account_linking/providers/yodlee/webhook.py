"""Yodlee's webhook: unsigned, and one for many users. Each user is an element of its own."""

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
    """Return one element for each user and link. Other events than DATA_UPDATES ask for nothing."""
    try:
        event = json.loads(body)["event"]
        return tuple(_elements(event["data"])) if str(event["info"]).startswith("DATA_UPDATES") else ()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Poison(f"No Yodlee webhook: {error!r}; it begins {body[:80]!r}.") from error


def _elements(data: dict[str, Any]) -> Iterator[Element]:
    for each in data["userData"]:
        user = str(each["user"]["loginName"])
        for link in each["links"]:
            if link["rel"] == RELATION:
                yield Element(provider="yodlee", item=user, link=_window(str(link["href"]), user))


def _window(link: str, user: str) -> str:
    """Return the link's window as a query of our own making. A webhook must not choose what we call, nor for whom."""
    parts = urlsplit(link)
    asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
    if parts.scheme or parts.netloc or parts.path.lstrip("/") != PATH or asked.get("loginName") != user:
        raise ValueError(f"the link {link!r} is not to {PATH} of {user}")
    return f"fromDate={asked['fromDate']}&toDate={asked['toDate']}"
