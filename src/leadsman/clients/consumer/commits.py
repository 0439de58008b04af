"""Commits that nobody waits for, each with a deadline. librdkafka has none: one that hangs blocks it for ever."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping

    from leadsman.clients.clock import Clock
    from leadsman.clients.consumer.offsets import Offsets, Partition
    from leadsman.clients.consumer.verdicts import Rules

    Ask: TypeAlias = Callable[[Mapping[Partition, int]], Any]

LOG = logging.getLogger("leadsman.clients")


class Commits:
    """Says when to commit what. `ask` hands a commit to the client and returns at once."""

    def __init__(self, ask: Ask, offsets: Offsets, lock: threading.Lock, *, rules: Rules, clock: Clock) -> None:
        self._ask = ask
        self._offsets = offsets
        self._lock = lock
        self._every = rules.commit_every.total_seconds()
        self._within = rules.commit_within.total_seconds()
        self._read = clock.read
        self._asked_at: float | None = None
        self._committed_at = self.good = self._read()[0]
        """`good`: when the coordinator last knew all that was done."""
        self.answered = self.failed = 0

    @property
    def awaited(self) -> bool:
        """Whether an answer is missing that is still in time."""
        return self._asked_at is not None and self._read()[0] - self._asked_at < self._within

    def in_time(self) -> None:
        """Commit if it is time; give up a commit that was not answered."""
        now = self._read()[0]
        if self._asked_at is not None and not self.awaited:
            self.failed += 1
            self._asked_at = None
            LOG.warning("A commit was not answered within %g s; it is asked for again.", self._within)
        if self._asked_at is None and now - self._committed_at >= self._every:
            self.now()

    def now(self) -> None:
        """Commit what is done."""
        now = self._committed_at = self._read()[0]
        with self._lock:
            wanted = self._offsets.to_commit()
        if not wanted:
            self.good = now
            return
        self._asked_at = now
        self._ask(wanted)

    def told(self, positions: Mapping[Partition, int], *, failed: bool) -> None:
        """Hear the coordinator's answer."""
        self._asked_at = None
        if failed:
            self.failed += 1
            return
        self.answered += 1
        self.good = self._read()[0]
        with self._lock:
            self._offsets.committed(positions)
