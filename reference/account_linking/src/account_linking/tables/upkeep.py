"""Keeps tables quick to read and write, once an hour or once a day: OPTIMIZE, then VACUUM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from account_linking.tables.layout import TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from account_linking.tables.layout import Layout

FILE_BYTES: Final = 32 << 20
"""How large OPTIMIZE makes a file; some 300,000 transactions. A batch reads such a file for each of its users: of
Delta's own size, a gigabyte, it would read most tables whole."""

MAX_FILE: Final = "spark.databricks.delta.optimize.maxFileSize"
MIN_FILE: Final = "spark.databricks.delta.optimize.minFileSize"


def upkeep(
    spark: SparkSession, layout: Layout, *, tables: Sequence[str] = tuple(TABLES), file_bytes: int = FILE_BYTES
) -> None:
    """Put small files together, a user's rows side by side, and delete files that no reader can need any more.

    It may run beside the streams: OPTIMIZE changes no row, and where a batch and it have touched one file, Delta lets
    one of them win and the other is repeated. What is deleted is older than the table's
    `delta.deletedFileRetentionDuration` (a week if it is not set): a reader may take that long.
    """
    before = {name: spark.conf.get(name, None) for name in (MAX_FILE, MIN_FILE)}
    for name in before:
        spark.conf.set(name, str(file_bytes))
    try:
        for table in tables:
            spark.sql(f"optimize {layout.sql(table)}")
            spark.sql(f"vacuum {layout.sql(table)}")
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)
