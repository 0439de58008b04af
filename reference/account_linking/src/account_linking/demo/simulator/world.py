"""What the made-up providers share: the ledger, what time it is there, and how well their servers feel."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from account_linking.demo.ledger import Change, Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """How well the servers feel. `errors` is the share of calls that end in a 500, `per_second` the rate limit."""

    latency_seconds: float = 0.0
    errors: float = 0.0
    per_second: float = 1000.0
    page_rows: int = 100
    seed: int = 0


@dataclass(slots=True)
class World:
    """The ledger as far as it is told. `now` is in seconds of the ledger."""

    ledger: Ledger
    weather: Weather = field(default_factory=Weather)
    now: float = 0.0
    calls: dict[str, int] = field(default_factory=dict)
    login_required: set[str] = field(default_factory=set)
    _random: Random = field(init=False)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self._random = Random(self.weather.seed)

    def told(self, item: str) -> list[Change]:
        """Return an item's changes until now."""
        with self._lock:
            return self.ledger.until(item, self.now)

    def happen(self, changes: list[Change]) -> None:
        """Let changes happen, and time pass to the last of them."""
        with self._lock:
            self.ledger.record(changes)
            self.now = max([self.now, *(change.at for change in changes)])

    def count(self, what: str) -> int:
        """Count a call or an error of some kind."""
        with self._lock:
            self.calls[what] = self.calls.get(what, 0) + 1
            return self.calls[what]

    def fails(self) -> bool:
        """Say whether this call ends in an error."""
        with self._lock:
            return self._random.random() < self.weather.errors
