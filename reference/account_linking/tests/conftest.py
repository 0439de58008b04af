"""Shared fixtures: one Spark session with Delta, one broker, empty tables."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from account_linking.tables.layout import Layout
from leadsman.lab.brokers.cluster import Cluster, ClusterPlan
from leadsman.pipeline.spark.session import SessionOptions, session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with session(SessionOptions(delta=True)) as running:
        yield running


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with Cluster(ClusterPlan()) as running:
        yield running


@pytest.fixture(scope="session")
def empty_tables(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Layout:
    """All tables without rows. To create them takes seconds, to copy them none."""
    tables = Layout(str(tmp_path_factory.mktemp("empty") / "tables"))
    tables.create(spark)
    return tables


@pytest.fixture
def layout(tmp_path: Path, empty_tables: Layout) -> Layout:
    tables = Layout(str(tmp_path / "tables"))
    shutil.copytree(empty_tables.root, tables.root)
    return tables


@pytest.fixture
def live(spark: SparkSession, layout: Layout) -> Any:
    """The live rows of silver, by transaction."""

    def run() -> dict[tuple[str, str], tuple[Any, ...]]:
        rows = spark.read.format("delta").load(layout.path("silver")).where("not is_deleted").collect()
        return {
            (row.item_ref, row.provider_transaction_id): (row.amount, row.status, row.description_clean, row.currency)
            for row in rows
        }

    return run
