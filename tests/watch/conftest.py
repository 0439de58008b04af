"""The embedded engine for tests that need detectors and no Spark, and what short watches need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leadsman.pipeline.spark.embedded import embedded_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture
def embedded() -> Iterator[SparkSession]:
    """The process's one engine; PySpark is in Connect mode for the time of one test only."""
    with embedded_session() as session:
        yield session


@pytest.fixture(autouse=True)
def quick_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch of a minute spends a third of its processor time on code for the hours that follow."""
    monkeypatch.setenv("LEADSMAN_WATCH_SPARK_CONF", "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1")
