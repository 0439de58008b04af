"""Numbers on a command line: finite, and within limits."""

from __future__ import annotations

from math import isfinite
from typing import Any

import click


class FiniteNumber(click.FloatRange):
    """A number within limits, if there are any. click's own type accepts nan, which is within every limit, and inf."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401 - click's signature
        """Return the number, or fail."""
        number = float(super().convert(value, param, ctx))
        if not isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number
