"""What the whole run shares: one Spark session, started as `leadsman diagnose` starts it, but for its compiler."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from pyspark.sql import SparkSession
from tests.java_options import CHEAP_OPTIMIZATION

from leadsman.catalogue import every_mode, modes_named
from leadsman.lab.brokers.cluster import Cluster, ClusterPlan
from leadsman.model import Diagnosis
from leadsman.pipeline.diagnose import diagnose
from leadsman.pipeline.events import EventRow, batches
from leadsman.pipeline.read.stream import read
from leadsman.pipeline.request import DiagnosisRequest, find_input, read_small_input
from leadsman.pipeline.scope.streams import list_files
from leadsman.pipeline.spark.session import SessionOptions, session

settings.register_profile("busy machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy machine")

Diagnose = Callable[..., list[Diagnosis]]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with session(SessionOptions(conf=CHEAP_OPTIMIZATION)) as running:
        yield running


@pytest.fixture(scope="session")
def diagnosed(spark: SparkSession) -> Diagnose:
    """Diagnose paths as the command line does: for every mode, or for those that are named."""

    def run(paths: Sequence[Path | str], named: Sequence[str] = (), **options: object) -> list[Diagnosis]:
        modes = modes_named(named) if named else every_mode()
        request = DiagnosisRequest(modes=modes, **options)  # type: ignore[arg-type]  # the tests pass what DiagnosisRequest takes
        return diagnose(spark, read_small_input(find_input([str(path) for path in paths])), request)

    return run


@pytest.fixture(scope="session")
def diagnosed_recordings(diagnosed: Diagnose) -> dict[str, Diagnosis]:
    """Every recorded capture of every mode by its path, diagnosed in one Spark job, with the points of a page."""
    folders = [folder for mode in every_mode() for folder in mode.recordings()]
    return dict(zip(map(str, folders), diagnosed(folders, points=True), strict=True))


@pytest.fixture
def verdict_of(diagnosed: Diagnose) -> Callable[[Path], str]:
    """The verdict on idle_disconnect for one path."""

    def run(path: Path) -> str:
        (diagnosis,) = diagnosed([path])
        return diagnosis.verdicts["idle_disconnect"].value

    return run


@pytest.fixture(scope="session")
def rows() -> Callable[[Path], list[EventRow]]:
    """Every event of every stream below a path."""

    def run(path: Path) -> list[EventRow]:
        events = (each for stream in list_files(str(path)).streams for each in read(stream, UTC))
        return [_row(each) for batch in batches(events) for each in batch.to_pylist()]

    return run


def _row(row: dict[str, Any]) -> EventRow:
    at = None if row["at"] is None else round(row["at"].timestamp() * 1000)
    return EventRow(**{**row, "at": at, "labels": dict(row["labels"])})


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """One broker for all tests that do not break it for good."""
    with Cluster(
        ClusterPlan(settings={"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "500"})
    ) as running:
        yield running
