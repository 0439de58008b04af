"""The pause before the next attempt at what failed: exponential, with full jitter."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """The pause after the n-th failure in a row: random up to initial * 2^(n-1), within `minimum` and `maximum`.

    Full jitter, because workers that failed together must not come back together. `uniform` returns a random number
    between two others.
    """

    initial: timedelta = timedelta(milliseconds=200)
    maximum: timedelta = timedelta(seconds=30)
    minimum: timedelta = timedelta(milliseconds=50)
    uniform: Callable[[float, float], float] = field(default=random.uniform, repr=False)

    def seconds(self, failures: int) -> float:
        """Return the pause after so many failures in a row, in seconds; 0 after none."""
        if failures == 0:
            return 0.0
        doublings = min(failures - 1, 40)  # 2^40 is past any `maximum`, and still a float
        ceiling = min(self.initial.total_seconds() * 2**doublings, self.maximum.total_seconds())
        return max(self.minimum.total_seconds(), self.uniform(0.0, ceiling))
