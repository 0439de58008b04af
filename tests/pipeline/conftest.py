"""Small logs to read."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

import pytest

START = datetime(2026, 2, 16, 12, 0, tzinfo=UTC)


@pytest.fixture
def log_of() -> Callable[[Iterable[tuple[float, str]]], str]:
    """A log in Python's layout out of (seconds after the start, message)."""

    def run(lines: Iterable[tuple[float, str]]) -> str:
        return "".join(f"{_at(seconds)} INFO orders: {message}\n" for seconds, message in lines)

    return run


def _at(seconds: float) -> str:
    return f"{START + timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S.%f}"[:-3].replace(".", ",")
