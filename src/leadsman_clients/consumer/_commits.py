"""Asynchronous offset commits with a timeout. librdkafka has none: a commit that hangs blocks it for ever."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping

    from leadsman_clients.clock import Clock
    from leadsman_clients.consumer._offsets import OffsetTracker, Partition
    from leadsman_clients.consumer.policy import ConsumerPolicy

    SendCommit: TypeAlias = Callable[[Mapping[Partition, int]], Any]

LOG = logging.getLogger("leadsman_clients")


class OffsetCommitter:
    """Decides when to commit which offsets. `send` passes a commit to the client and returns at once."""

    def __init__(
        self,
        send: SendCommit,
        offsets: OffsetTracker,
        lock: threading.Lock,
        *,
        policy: ConsumerPolicy,
        clock: Clock,
    ) -> None:
        self._send = send
        self._offsets = offsets
        self._lock = lock
        self._interval_seconds = policy.commit_interval.total_seconds()
        self._timeout_seconds = policy.commit_timeout.total_seconds()
        self._read_clock = clock.read
        self._sent_at: float | None = None
        """When the commit in flight was sent; None if there is none."""
        self._last_commit_at = self.last_success_at = self._read_clock()[0]
        """`last_success_at`: when all processed records were last committed, on the monotonic clock."""
        self.acknowledged = self.failed = 0

    @property
    def is_pending(self) -> bool:
        """Whether a commit is in flight and has not timed out."""
        return self._sent_at is not None and self._read_clock()[0] - self._sent_at < self._timeout_seconds

    def commit_if_due(self) -> None:
        """Commit if the interval is over; give up a commit that timed out."""
        now = self._read_clock()[0]
        if self._sent_at is not None and not self.is_pending:
            self.failed += 1
            self._sent_at = None
            LOG.warning("An offset commit timed out after %g s (commit_timeout); retrying.", self._timeout_seconds)
        if self._sent_at is None and now - self._last_commit_at >= self._interval_seconds:
            self.commit()

    def commit(self) -> None:
        """Commit the offsets of all processed records."""
        now = self._last_commit_at = self._read_clock()[0]
        with self._lock:
            positions = self._offsets.uncommitted()
        if not positions:
            self.last_success_at = now
            return
        self._sent_at = now
        self._send(positions)

    def on_response(self, positions: Mapping[Partition, int], *, failed: bool) -> None:
        """Handle the coordinator's response."""
        self._sent_at = None
        if failed:
            self.failed += 1
            return
        self.acknowledged += 1
        self.last_success_at = self._read_clock()[0]
        with self._lock:
            self._offsets.mark_committed(positions)
