"""Keeps calls under a provider's rate limit."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(slots=True)
class Bucket:
    """A token bucket: `per_second` calls in the long run, `burst` at once. Safe for threads."""

    per_second: float
    burst: float
    now: Callable[[], float]
    _tokens: float = field(init=False)
    _at: float = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._tokens, self._at = self.burst, self.now()

    def take(self) -> float:
        """Take a token; return how many seconds to wait before using it."""
        with self._lock:
            now = self.now()
            self._tokens = min(self.burst, self._tokens + max(0.0, now - self._at) * self.per_second)
            self._at = now
            self._tokens -= 1
            return max(0.0, -self._tokens / self.per_second)

    def give_back(self) -> None:
        """Return a token that was not used."""
        with self._lock:
            self._tokens += 1

    def pause(self, seconds: float) -> None:
        """Let nobody call for so long: the provider said so."""
        with self._lock:
            self._tokens = min(self._tokens, -seconds * self.per_second)
