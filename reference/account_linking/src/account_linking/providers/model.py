"""What a provider is to the rest of the application. A folder below `providers` that has a PROVIDER is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime  # noqa: TC003 - a part of types that are made when this is loaded
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

Settings: TypeAlias = Mapping[str, str]
"""Environment variables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A webhook as it came. `secret` is the last part of its path, `source` the sender's address."""

    headers: Mapping[str, str]
    body: bytes
    secret: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """One thing to fetch. `item` is what a provider calls one user's login at one bank; `link` is what to get of it."""

    provider: str
    item: str
    link: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """What the application knows of an item: whose it is and how to ask for it."""

    provider: str
    item: str
    user: str
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """One transaction or account as the provider told it. `account` keys it."""

    entity: Literal["transactions", "accounts"]
    account: str
    value: str
    op: Literal["UPSERT", "DELETE"] = "UPSERT"


@dataclass(frozen=True, slots=True)
class Update:
    """All that one fetch brought, in the order in which it holds, and the cursor that comes after it."""

    records: tuple[Raw, ...]
    cursor: str


class Api(Protocol):
    """A provider's HTTP API under its rate limit, bounded by the invocation's deadline."""

    def call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        json: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Return the answer. Rate limits and outages are waited for, then TryLater."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What an API answered, whatever its status."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """From a provider's schema to the generic one, as SQL over a parsed value `t` and the raw record's columns.

    `schema` and `account_schema` are DDL; `columns` and `account_columns` give an expression for each generic column
    that the provider has. `maps` is its table of categories: primary, detailed (or *), class.
    """

    schema: str
    columns: Mapping[str, str]
    account_schema: str
    account_columns: Mapping[str, str]
    maps: Path


def whole_item(link: Link, _cursor: str, _now: datetime) -> tuple[Element, ...]:
    """Return what to fetch where a fetch brings all that is new since the cursor: the item."""
    return (Element(provider=link.provider, item=link.item),)


Verify: TypeAlias = Callable[[Incoming], str]
"""Raises WebhookRefused, or returns what makes this very sending known again; empty where nothing does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider of bank data.

    `verifier` makes the check of its webhooks out of settings; `elements` says what a webhook's body asks to fetch;
    `fetch` fetches one element from a cursor on; `base` names the setting that holds the API's address; `missed` says
    what to fetch of an item of which no webhook came for long, by its cursor.
    """

    name: str
    base: str
    verifier: Callable[[Settings], Verify]
    elements: Callable[[bytes], tuple[Element, ...]]
    fetch: Callable[[Element, Link, str, Api], Update]
    translation: Translation
    calls_per_second: float
    missed: Callable[[Link, str, datetime], tuple[Element, ...]] = whole_item
