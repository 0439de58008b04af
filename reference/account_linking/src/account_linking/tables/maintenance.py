"""Maintains the tables, once an hour or once a day: OPTIMIZE, then VACUUM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from account_linking.tables.layout import CLUSTERED, TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from account_linking.tables.layout import Layout

FILE_BYTES: Final = 32 << 20
"""Target size of a file for OPTIMIZE: 32 MiB, some 300,000 transactions. A batch reads such a file for each of its
users: with Delta's default of 1 GiB it would read most tables completely."""

LISTING_TASKS: Final = 8
"""Tasks with which VACUUM lists a table. A table is one folder: of Spark's default 10,000 all but one would be idle."""

SETTINGS: Final = {
    "spark.databricks.delta.optimize.maxFileSize": "{file_bytes}",
    "spark.databricks.delta.optimize.minFileSize": "{file_bytes}",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": str(LISTING_TASKS),
}


def maintain_tables(
    spark: SparkSession, layout: Layout, *, tables: Sequence[str] = tuple(TABLES), file_bytes: int = FILE_BYTES
) -> None:
    """Compact small files, cluster rows by account or user, and delete files that no reader needs any more.

    After its first run it may run beside the streams: OPTIMIZE changes no row, and if a batch and OPTIMIZE rewrite one
    file, Delta commits one of them and the other is repeated. VACUUM deletes files that left the table longer ago than
    `delta.deletedFileRetentionDuration` (7 days by default): a reader may take that long.
    """
    before = {name: spark.conf.get(name, None) for name in SETTINGS}
    for name, value in SETTINGS.items():
        spark.conf.set(name, value.format(file_bytes=file_bytes))
    try:
        for table in tables:
            _cluster(spark, layout, table)
            spark.sql(f"optimize {layout.sql(table)}")
            spark.sql(f"vacuum {layout.sql(table)}")
    finally:
        for name, old in before.items():
            spark.conf.unset(name) if old is None else spark.conf.set(name, old)


def _cluster(spark: SparkSession, layout: Layout, table: str) -> None:
    """Declare the table's clustering column, once: Delta 4.4 drops clusterBy of a DataFrame that is written to a path.

    It changes the table's protocol: a batch that is being written meanwhile fails and must be repeated.
    """
    name = layout.sql(table)
    columns = [CLUSTERED[table]] if table in CLUSTERED else []
    if list(spark.sql(f"describe detail {name}").collect()[0].clusteringColumns) != columns:
        spark.sql(f"alter table {name} cluster by ({', '.join(columns)})")
