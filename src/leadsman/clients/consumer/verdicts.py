"""What a handler can say about a record, and how the runner is told to behave."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias

from leadsman.clients.backoff import Backoff

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A record as a handler gets it. `attempt` is 1 at the first try."""

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
    """Go on without it: it is of no interest."""

    because: str = ""


@dataclass(frozen=True, slots=True)
class Retry:
    """Try it again, after a while. Later records of this consumer wait: order is kept."""

    after: timedelta | None = None
    because: str = ""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """It can never be processed: put it aside, and go on once it is stored there."""

    because: str


Verdict: TypeAlias = Skip | Retry | DeadLetter | None
"""None: it is processed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How patient a runner is.

    `attempts`: so often a record is tried before it is a dead letter. `commit_every` is the pause between commits, and
    `commit_within` how long one may go unanswered before it is asked for again: librdkafka itself waits for ever.
    `stall_within`: without progress, or without an answered commit, for so long, the consumer is replaced; longer than
    your cluster takes to settle after losing a broker (Kafka Streams' task.timeout.ms has the same meaning and
    default). `restarts` in `window` are allowed: more than an outage of all brokers can cause by stalls alone.

    A stop takes at most `drain_within` for the record under way, `commit_within` and `close_within`: together less than
    the 30 s that Kubernetes gives.
    """

    attempts: int = 5
    retry: Backoff = field(default_factory=Backoff)
    commit_every: timedelta = timedelta(seconds=1)
    commit_within: timedelta = timedelta(seconds=5)
    stall_within: timedelta = timedelta(minutes=5)
    restarts: int = 10
    window: timedelta = timedelta(minutes=30)
    restart: Backoff = field(default_factory=lambda: Backoff(first=timedelta(seconds=1)))
    drain_within: timedelta = timedelta(seconds=15)
    close_within: timedelta = timedelta(seconds=5)
    most_under_way: int = 500

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"attempts is {self.attempts}; a record is tried at least once.")
        if self.most_under_way < 1:
            raise ValueError(f"most_under_way is {self.most_under_way}; it must be at least 1.")
