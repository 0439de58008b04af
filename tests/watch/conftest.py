"""The embedded engine for tests that need detectors and no Spark."""

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
