"""The interface of a store.

A worker claims an item before it calls the provider, and moves the cursor only if no other worker has claimed the item
since. The claim's number orders all published records: a later fetch has the higher number.

A fetch result is saved here before it is published, until the cursor has moved. If the worker dies in between, the next
worker publishes the saved records and does not fetch again from the old cursor: a transaction that appeared, was
published and was deleted before the second fetch would be in neither of the two states that the provider compares, and
would stay in the tables for ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from account_linking.providers.model import FetchResult, LinkedItem


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A lock on one item until a time. `fencing_token` grows with each claim of the item.

    `unfinished` is the fetch result that an earlier worker saved for this cursor and did not finish publishing.
    """

    link: LinkedItem
    cursor: str
    fencing_token: int
    unfinished: FetchResult | None = None


class Store(Protocol):
    """The calls that a store must serve. Each call is one conditional write, or one read, except `reseal`."""

    def create(self) -> None:
        """Create the tables that do not exist yet."""

    def claim(self, provider: str, item: str, *, now: float, until: float) -> Claim | None:
        """Claim an item until a time; None while another worker's claim is valid. KeyError if the item is unknown."""

    def save_unfinished(self, claim: Claim, result: FetchResult) -> bool:
        """Save a fetch result before publishing, unless the item was claimed later; return whether it was saved."""

    def advance(self, claim: Claim, cursor: str, *, now: float) -> bool:
        """Move the cursor and release the item, unless it was claimed later; return whether the cursor moved."""

    def release(self, claim: Claim, *, state: str = "good") -> None:
        """Release the item without moving its cursor, unless it was claimed later."""

    def stale(self, *, before: float) -> list[Claim]:
        """Return the items in good state that were last synced before a time, with their cursors and no tokens.

        Claims no item.
        """

    def add(self, links: Iterable[LinkedItem]) -> None:
        """Add items, or change their user and token."""

    def items_of(self, user: str) -> list[LinkedItem]:
        """Return all items of a user, in any state, without their tokens."""

    def remove(self, provider: str, item: str) -> bool:
        """Delete an item with all that is stored of it; return whether it was there."""

    def reseal(self) -> int:
        """Seal every token again with the current key; return how many. Safe beside running workers."""

    def remember_delivery(self, name: str, *, now: float, until: float) -> bool:
        """Remember a webhook's delivery until a time, unless it is remembered already; return whether it was new.

        One atomic step: of ten copies that arrive at once, one is new. It inserts the name, or replaces one whose time
        has passed (`until <= :now`).
        """

    def forget_delivery(self, name: str) -> None:
        """Forget a delivery that was not stored after all, so that the provider's next try is new."""
