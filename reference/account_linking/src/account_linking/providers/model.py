"""The interface of a provider of bank data. Each package below `providers` has a PROVIDER."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime  # noqa: TC003 - a type alias needs it at run time
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

Settings: TypeAlias = Mapping[str, str]
"""Environment variables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingWebhook:
    """A received webhook. `secret` is the last part of the URL's path, `source` the sender's IP address."""

    headers: Mapping[str, str]
    body: bytes
    secret: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchTask:
    """One fetch that is due. `item` is one user's login at one bank; `link` limits the fetch (Yodlee: a window)."""

    provider: str
    item: str
    link: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedItem:
    """An item that the application knows: its user, and the access token for the provider's API."""

    provider: str
    item: str
    user: str
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRecord:
    """One transaction or account in the provider's JSON. `account` is part of the record's key."""

    entity: Literal["transactions", "accounts"]
    account: str
    value: str
    op: Literal["UPSERT", "DELETE"] = "UPSERT"


@dataclass(frozen=True, slots=True)
class FetchResult:
    """The records of one fetch, in the order in which they apply, and the next cursor."""

    records: tuple[RawRecord, ...]
    cursor: str


class Api(Protocol):
    """A provider's HTTP API: keeps to the rate limit and to the invocation's deadline."""

    def call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        json: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> ApiResponse:
        """Return the response. Waits out rate limits and outages; TryLater where the deadline is too near."""


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """An API's response, whatever its status."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """Maps a provider's schema to the generic schema, in SQL over the parsed value `t` and the raw record's columns.

    `schema` and `account_schema` are DDL; `columns` and `account_columns` give an expression for each generic column
    that the provider has. Amount, dates and times are given as the provider's text, in columns of type string: the
    tables make exact values of them, or quarantine the row. `numbers` are the members, at any depth, whose numbers are
    read as text. `sign` is 1 where a positive amount is money in, -1 where it is money out, null where nothing says
    which; `is_absolute` where the provider writes no negative amounts. `maps` is the CSV file of the provider's
    categories: primary, detailed (or *), class. It is found inside a ZIP file as well.
    """

    schema: str
    columns: Mapping[str, str]
    sign: str
    is_absolute: bool
    account_schema: str
    account_columns: Mapping[str, str]
    maps: Traversable
    numbers: tuple[str, ...] = ("amount",)


def whole_item(link: LinkedItem, _cursor: str, _now: datetime) -> tuple[FetchTask, ...]:
    """Return the item as one fetch task: for providers whose fetch returns all changes since the cursor."""
    return (FetchTask(provider=link.provider, item=link.item),)


Verify: TypeAlias = Callable[[IncomingWebhook], str]
"""Raises WebhookRefused, or returns a token that is unique to this delivery; empty where the provider sends none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider of bank data.

    `verifier` builds the verification of webhooks from settings; `fetch_tasks` returns the tasks that a webhook's body
    announces; `fetch` runs one of them from a cursor on; `url_setting` names the setting with the API's URL;
    `missed_fetch_tasks` returns the fetch tasks of an item that had no webhook for long, by its cursor.
    """

    name: str
    url_setting: str
    verifier: Callable[[Settings], Verify]
    fetch_tasks: Callable[[bytes], tuple[FetchTask, ...]]
    fetch: Callable[[FetchTask, LinkedItem, str, Api], FetchResult]
    translation: Translation
    calls_per_second: float
    missed_fetch_tasks: Callable[[LinkedItem, str, datetime], tuple[FetchTask, ...]] = whole_item
