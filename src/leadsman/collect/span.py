"""Lengths of time as people write them: 10s, 5m, 2h, 1d."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import click


class Span(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on, and only to the type checker
    """A length of time: 10s, 5m, 2h, 1d; a bare number is seconds."""

    name = "SPAN"
    units = {"": 1, "ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400}  # noqa: RUF012 - nobody changes it

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:  # noqa: ANN401 - click's signature
        """Return the length, or fail with an example."""
        if isinstance(value, timedelta):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|)", str(value).strip())
        if not found:
            self.fail(f"{value!r} is no length of time such as 10s, 5m or 2h.", param, ctx)
        return timedelta(seconds=float(found[1]) * self.units[found[2]])
