"""Small logs to read."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from leadsman.lab.spark.cluster import spark_cluster

START = datetime(2026, 2, 16, 12, 0, tzinfo=UTC)


@pytest.fixture(scope="session")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a standalone cluster whose executors get no package from their environment."""
    with spark_cluster(tmp_path_factory.mktemp("standalone"), environment={"PYTHONPATH": ""}) as cluster:
        yield cluster.url


@pytest.fixture
def log_of() -> Callable[[Iterable[tuple[float, str]]], str]:
    """A log in Python's layout out of (seconds after the start, message)."""

    def run(lines: Iterable[tuple[float, str]]) -> str:
        return "".join(f"{_at(seconds)} INFO orders: {message}\n" for seconds, message in lines)

    return run


def _at(seconds: float) -> str:
    return f"{START + timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S.%f}"[:-3].replace(".", ",")
