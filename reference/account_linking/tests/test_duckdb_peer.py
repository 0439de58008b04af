"""The benchmark's peer in DuckDB gives what the application gives: else their speeds would be of different work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench import accounts, accounts_duckdb

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_duckdb_translates_and_classifies_as_the_application_does(spark: SparkSession, tmp_path: Path) -> None:
    records = accounts.generate(tmp_path / "raw", 1)
    theirs = tmp_path / "duckdb"
    theirs.mkdir()

    by_application = accounts.by_spark(spark, records, tmp_path / "spark")
    by_duckdb = accounts_duckdb.run(records, theirs, cores=2)

    assert by_duckdb == by_application
    assert accounts_duckdb.differences(tmp_path / "spark", theirs) == 0
