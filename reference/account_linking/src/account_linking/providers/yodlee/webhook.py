"""Yodlee's webhook: unsigned, one for many users. Each user becomes a fetch task.

Any sender with the URL's secret and an allowed address can send one, so it only says where to look again: its users
must be linked, its windows are read as two times and written anew, and its data is not used.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

from account_linking.bodies import member, objects, parse_object, text
from account_linking.errors import Poison
from account_linking.providers import unsigned
from account_linking.providers.model import FetchTask

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

verifier = partial(unsigned.verifier, prefix="YODLEE")

RELATION = "getUserData"
PATH = "dataExtracts/userData"


def fetch_tasks(body: bytes) -> tuple[FetchTask, ...]:
    """Return one fetch task for each user and link; none for events other than DATA_UPDATES."""
    event = member(parse_object(body), "event", dict)
    if not text(event, "info").startswith("DATA_UPDATES"):
        return ()
    return tuple(_fetch_tasks(member(event, "data", dict)))


def _fetch_tasks(data: dict[str, Any]) -> Iterator[FetchTask]:
    for each in objects(data, "userData"):
        user = text(member(each, "user", dict), "loginName")
        for link in objects(each, "links"):
            if text(link, "rel") == RELATION:
                yield FetchTask(provider="yodlee", item=user, link=_window(text(link, "href"), user))


def _window(link: str, user: str) -> str:
    """Return the link's window as a query built here: a webhook must not choose the URL, the user or a parameter."""
    try:
        parts = urlsplit(link)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    except ValueError as error:
        raise Poison("The body's href is no link.") from error
    if parts.scheme or parts.netloc or parts.path.lstrip("/") != PATH or query.get("loginName") != user:
        raise Poison(f"The body's href is not to {PATH} of its user.")
    return urlencode({name: _time(query, name) for name in ("fromDate", "toDate")}, safe=":")


def _time(query: Mapping[str, str], name: str) -> str:
    try:
        at = datetime.fromisoformat(query[name])
        if at.tzinfo is None:
            raise Poison(f"The body's {name} has no time zone.")
        return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    except (KeyError, ValueError, OverflowError) as error:
        raise Poison(f"The body's href has no {name}, or none that is a time.") from error
