"""What the whole test run shares: one Spark session, started as `leadsman diagnose` starts it."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from leadsman.catalogue import every_mode, modes_named
from leadsman.lab.cluster import Cluster, Plan
from leadsman.model import Diagnosis
from leadsman.pipeline.diagnose import diagnose
from leadsman.pipeline.events import Row, batches
from leadsman.pipeline.question import Question, look, read_small
from leadsman.pipeline.read import read
from leadsman.pipeline.session import session
from leadsman.pipeline.streams import find

Diagnose = Callable[..., list[Diagnosis]]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with session() as running:
        yield running


@pytest.fixture(scope="session")
def diagnosed(spark: SparkSession) -> Diagnose:
    """Diagnose paths as the command line does: for every mode, or for those that are named."""

    def run(paths: Sequence[Path | str], named: Sequence[str] = (), **options: object) -> list[Diagnosis]:
        modes = modes_named(named) if named else every_mode()
        question = Question(modes=modes, **options)  # type: ignore[arg-type]  # the tests pass what Question takes
        return diagnose(spark, read_small(look([str(path) for path in paths])), question)

    return run


@pytest.fixture
def verdict_of(diagnosed: Diagnose) -> Callable[[Path], str]:
    """The verdict on idle_disconnect for one path."""

    def run(path: Path) -> str:
        (diagnosis,) = diagnosed([path])
        return diagnosis.verdicts["idle_disconnect"].value

    return run


@pytest.fixture
def rows() -> Callable[[Path], list[Row]]:
    """Every event of every stream below a path."""

    def run(path: Path) -> list[Row]:
        told = (each for stream in find(str(path)).streams for each in read(stream, UTC))
        return [_row(each) for batch in batches(told) for each in batch.to_pylist()]

    return run


def _row(told: dict[str, Any]) -> Row:
    at = None if told["at"] is None else round(told["at"].timestamp() * 1000)
    return Row(**{**told, "at": at, "labels": dict(told["labels"])})


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """One broker for all tests that do not break it for good."""
    with Cluster(
        Plan(settings={"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "500"})
    ) as running:
        yield running
