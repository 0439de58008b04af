"""What the application's tests share: one Spark session with Delta, one broker, and banks without a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from account_linking.tables.layout import Layout
from leadsman.lab.cluster import Cluster, Plan
from leadsman.pipeline.session import Wanted, session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with session(Wanted(delta=True)) as running:
        yield running


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with Cluster(Plan()) as running:
        yield running


@pytest.fixture
def layout(tmp_path: Path, spark: SparkSession) -> Layout:
    made = Layout(str(tmp_path / "tables"))
    made.create(spark)
    return made


@pytest.fixture
def live(spark: SparkSession, layout: Layout) -> Any:
    """What silver holds now, by transaction."""

    def run() -> dict[tuple[str, str], tuple[Any, ...]]:
        rows = spark.read.format("delta").load(layout.path("silver")).where("not is_deleted").collect()
        return {
            (row.item_ref, row.provider_transaction_id): (row.amount, row.status, row.description_clean, row.currency)
            for row in rows
        }

    return run
