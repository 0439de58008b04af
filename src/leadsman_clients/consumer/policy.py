"""Timeouts, attempts and restarts of a ConsumerRunner."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import timedelta

from leadsman_clients.backoff import Backoff


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerPolicy:
    """Limits of a ConsumerRunner.

    `max_attempts`: so often a record is tried before it is a dead letter, with `retry_backoff` between attempts.
    `commit_interval` is the time between offset commits, `commit_timeout` how long one may take before it is sent
    again: librdkafka itself waits for ever. `stall_timeout`: after so long without progress, or without an acknowledged
    commit, the consumer is replaced; set it longer than your cluster takes to recover from the loss of a broker (Kafka
    Streams' task.timeout.ms has the same meaning and default). `max_restarts` in `restart_window` are allowed: more
    than an outage of all brokers can cause by stalls alone. `max_in_flight` records are received ahead of the handler.

    A stop takes at most `drain_timeout` for the record in flight, `commit_timeout` and `close_timeout`: together less
    than the 30 s that Kubernetes gives.
    """

    max_attempts: int = 5
    retry_backoff: Backoff = field(default_factory=Backoff)
    commit_interval: timedelta = timedelta(seconds=1)
    commit_timeout: timedelta = timedelta(seconds=5)
    stall_timeout: timedelta = timedelta(minutes=5)
    max_restarts: int = 10
    restart_window: timedelta = timedelta(minutes=30)
    restart_backoff: Backoff = field(default_factory=lambda: Backoff(initial=timedelta(seconds=1)))
    drain_timeout: timedelta = timedelta(seconds=15)
    close_timeout: timedelta = timedelta(seconds=5)
    max_in_flight: int = 500

    def __post_init__(self) -> None:
        if self.max_attempts < 1:
            raise ValueError(f"max_attempts is {self.max_attempts}; a record is tried at least once.")
        if self.max_in_flight < 1:
            raise ValueError(f"max_in_flight is {self.max_in_flight}; it must be at least 1.")


class RestartBudget:
    """At most so many restarts in a time window, with a longer pause before each."""

    def __init__(self, max_restarts: int, window: timedelta, backoff: Backoff) -> None:
        self._max_restarts = max_restarts
        self._window_seconds = window.total_seconds()
        self._backoff = backoff
        self._restarts: deque[float] = deque()

    def spend(self, now: float) -> float | None:
        """Take one restart; return the pause before it in seconds, or None if none is left. `now` is monotonic."""
        while self._restarts and now - self._restarts[0] >= self._window_seconds:
            self._restarts.popleft()
        if len(self._restarts) >= self._max_restarts:
            return None
        self._restarts.append(now)
        return self._backoff.seconds(len(self._restarts))
