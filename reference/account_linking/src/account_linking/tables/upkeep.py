"""Keeps tables quick to read and write, once an hour or once a day: OPTIMIZE, then VACUUM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from account_linking.tables.layout import CLUSTERED, TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from account_linking.tables.layout import Layout

FILE_BYTES: Final = 32 << 20
"""How large OPTIMIZE makes a file; some 300,000 transactions. A batch reads such a file for each of its users: of
Delta's own size, a gigabyte, it would read most tables whole."""

LISTINGS: Final = 8
"""Tasks that VACUUM lists a table with. A table is one folder: of Spark's own 10,000 all but one have nothing to do."""

SETTINGS: Final = {
    "spark.databricks.delta.optimize.maxFileSize": "{file_bytes}",
    "spark.databricks.delta.optimize.minFileSize": "{file_bytes}",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": str(LISTINGS),
}


def upkeep(
    spark: SparkSession, layout: Layout, *, tables: Sequence[str] = tuple(TABLES), file_bytes: int = FILE_BYTES
) -> None:
    """Put small files together, a user's rows side by side, and delete files that no reader can need any more.

    But for its first run it may run beside the streams: OPTIMIZE changes no row, and where a batch and it have touched
    one file, Delta lets one of them win and the other is repeated. What is deleted is older than the table's
    `delta.deletedFileRetentionDuration` (a week if it is not set): a reader may take that long.
    """
    before = {name: spark.conf.get(name, None) for name in SETTINGS}
    for name, wanted in SETTINGS.items():
        spark.conf.set(name, wanted.format(file_bytes=file_bytes))
    try:
        for table in tables:
            _cluster(spark, layout, table)
            spark.sql(f"optimize {layout.sql(table)}")
            spark.sql(f"vacuum {layout.sql(table)}")
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)


def _cluster(spark: SparkSession, layout: Layout, table: str) -> None:
    """Say by what a table is clustered, once: a DataFrame that is written to a path cannot (Delta 4.4 drops clusterBy).

    It changes the table's protocol, and a batch that is being written meanwhile fails and has to be repeated.
    """
    name = layout.sql(table)
    wanted = [CLUSTERED[table]] if table in CLUSTERED else []
    if list(spark.sql(f"describe detail {name}").collect()[0].clusteringColumns) != wanted:
        spark.sql(f"alter table {name} cluster by ({', '.join(wanted)})")
