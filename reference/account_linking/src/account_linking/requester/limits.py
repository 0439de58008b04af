"""Keeps calls below a provider's rate limit."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(slots=True)
class TokenBucket:
    """A token bucket: `per_second` calls in the long run, `burst` calls at once. Thread-safe."""

    per_second: float
    burst: float
    now: Callable[[], float]
    _tokens: float = field(init=False)
    _updated_at: float = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._tokens, self._updated_at = self.burst, self.now()

    def take(self) -> float:
        """Take a token; return how many seconds to wait before using it."""
        with self._lock:
            now = self.now()
            self._tokens = min(self.burst, self._tokens + max(0.0, now - self._updated_at) * self.per_second)
            self._updated_at = now
            self._tokens -= 1
            return max(0.0, -self._tokens / self.per_second)

    def give_back(self) -> None:
        """Return a token that was not used."""
        with self._lock:
            self._tokens += 1

    def pause(self, seconds: float) -> None:
        """Allow no call for so many seconds, as the provider's Retry-After requires."""
        with self._lock:
            self._tokens = min(self._tokens, -seconds * self.per_second)
