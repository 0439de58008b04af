"""The embedded engine for tests that need detectors and no Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leadsman.pipeline.spark.embedded import embedded_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def embedded() -> Iterator[SparkSession]:
    with embedded_session() as session:
        yield session
