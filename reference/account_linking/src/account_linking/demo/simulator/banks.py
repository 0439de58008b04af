"""The state that all simulated providers share: the ledger, its clock, and injected faults."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from account_linking.demo.ledger import BankLedger, MovementChange


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultInjection:
    """Latency, errors and limits of the servers. `error_rate` is the share of calls with status 500."""

    latency_seconds: float = 0.0
    error_rate: float = 0.0
    calls_per_second: float = 1000.0
    page_rows: int = 100
    seed: int = 0


@dataclass(slots=True)
class SimulatedBanks:
    """The ledger up to `now`, in seconds of the ledger, and counters of calls."""

    ledger: BankLedger
    faults: FaultInjection = field(default_factory=FaultInjection)
    now: float = 0.0
    call_counts: dict[str, int] = field(default_factory=dict)
    retry_after_seconds: float = 0.0
    """The sum of the `Retry-After` of all answers 429: what the rate limit cost the callers."""
    login_required: set[str] = field(default_factory=set)
    _random: Random = field(init=False)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self._random = Random(self.faults.seed)

    def changes_until_now(self, item: str) -> list[MovementChange]:
        """Return an item's changes until now."""
        with self._lock:
            return self.ledger.until(item, self.now)

    def apply_changes(self, changes: list[MovementChange]) -> None:
        """Append changes to the ledger, and move the clock to the last of them."""
        with self._lock:
            self.ledger.record(changes)
            self.now = max([self.now, *(change.at for change in changes)])

    def count(self, kind: str) -> int:
        """Count a call or an error by its kind; return the count."""
        with self._lock:
            self.call_counts[kind] = self.call_counts.get(kind, 0) + 1
            return self.call_counts[kind]

    def count_limited(self, retry_after_seconds: float) -> None:
        """Count an answer 429."""
        with self._lock:
            self.count("429")
            self.retry_after_seconds += retry_after_seconds

    def next_call_fails(self) -> bool:
        """Return whether this call gets status 500."""
        with self._lock:
            return self._random.random() < self.faults.error_rate
