"""What a handler receives, a Message, and what it may return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A record as a handler receives it. `attempt` is 1 at the first try."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]] = ()
    timestamp_ms: int | None = None
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Skip:
    """Go on without the record: it is of no interest."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Retry:
    """Try the record again, after a while. Later records of this consumer wait: order is kept."""

    after: timedelta | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """The record can never be processed: store it in the dead-letter topic, and then go on."""

    reason: str


HandlerResult: TypeAlias = Skip | Retry | DeadLetter | None
"""None: the record is processed."""
