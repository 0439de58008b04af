"""What a kind of receiver is, and which kinds there are. Nothing registers itself."""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from leadsman.errors import UsageError
from leadsman.model import Life
from leadsman.notify import kinds
from leadsman.notify.destination import Destination, parse_destination

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from leadsman.notify.http import Exchange
    from leadsman.report.message.message import FindingMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """A message, and the id of its finding, by which receivers recognise a second one.

    `life` is what happened to a finding that is watched; None for a diagnosis, which looks once. `key` is another one
    for each change of a finding, and the same where a message is repeated.
    """

    id: str
    message: FindingMessage
    life: Life | None = None
    key: str = ""

    @property
    def is_resolved(self) -> bool:
        """Whether the finding has ended."""
        return self.life is Life.RESOLVED


def _lacks_nothing(_destination: Destination) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationKind:
    """One kind of receiver. `deliver` sends one notification by requests; NotificationFailed where it is not accepted.

    `example` is a URL to copy. `is_opaque`: the URL is of another library, and is not taken apart. `lacks` says whether
    a URL lacks a part that the kind needs.

    `is_keyed`: the receiver knows a finding by its id, so that each resolved finding is sent by itself. `groups`: the
    receiver puts many at once into one message itself. `refreshed_every`: an open finding is sent again, because the
    receiver would end it otherwise.
    """

    deliver: Callable[[Exchange, Destination, Notification], None]
    example: str
    needs_credentials: bool = False
    is_opaque: bool = False
    lacks: Callable[[Destination], bool] = _lacks_nothing
    check: Callable[[], None] | None = None
    is_keyed: bool = False
    groups: bool = False
    refreshed_every: timedelta | None = None


@cache
def kind_names() -> tuple[str, ...]:
    """Return the names of all kinds, in alphabetical order: a kind is called as its module."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(kinds.__path__)))


def find_kind(name: str) -> NotificationKind:
    """Return the kind of this name."""
    kind: NotificationKind = import_module(f"{kinds.__name__}.{name}").KIND
    return kind


def destination_of(text: str) -> Destination:
    """Return the destination that KIND=URL names. UsageError shows nothing of the URL: it can hold secrets."""
    name, equals, url = text.partition("=")
    if not equals or name not in kind_names():
        given = f"not {name!r}" if equals and "://" not in name else "and the value has no kind"
        raise UsageError(f"--notify takes KIND=URL, {given}. Kinds: {', '.join(kind_names())}.")
    kind = find_kind(name)
    if kind.check is not None:
        kind.check()
    return parse_destination(kind, name, url)
