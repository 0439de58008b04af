"""Durations on a command line: 10s, 5m, 2h, 1d."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import click

LONGEST = timedelta(days=36_500)
"""A century: from any time of a log, so long before and after are times that Python has."""


class DurationParam(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on, and only to the type checker
    """A duration: 10s, 5m, 2h, 1d; a number without a unit is seconds."""

    name = "DURATION"
    units = {"": 1, "ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400}  # noqa: RUF012 - never changed

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:  # noqa: ANN401 - click's signature
        """Return the duration, or fail with an example."""
        if isinstance(value, timedelta):
            return value
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|h|d|)", str(value).strip())
        if not match:
            self.fail(f"{value!r} is not a duration such as 10s, 5m or 2h.", param, ctx)
        seconds = float(match[1]) * self.units[match[2]]
        if seconds > LONGEST.total_seconds():
            self.fail(f"{value!r} is longer than {LONGEST.days}d.", param, ctx)
        return timedelta(seconds=seconds)
