"""The latest versions of the tables, and which tables are empty: without a query for each batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from account_linking.tables.merge import latest_version

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from account_linking.tables.layout import Layout


@dataclass(slots=True)
class Versions:
    """Versions are read from Delta once, and then found by the files of later commits.

    Each `describe history` costs as much as a query. Spark Connect reaches no files: there each version is a query, and
    no table is known as empty.
    """

    layout: Layout
    _latest: dict[str, int] = field(default_factory=dict)
    _known_empty: dict[str, tuple[int, bool]] = field(default_factory=dict)

    def latest(self, spark: SparkSession, table: str) -> int:
        """Return the number of the table's latest commit."""
        version = self._latest.get(table)
        if version is None or not _reaches_files(spark) or not self._has_commit(spark, table, version):
            version = latest_version(spark, self.layout, table)
        else:
            while self._has_commit(spark, table, version + 1):
                version += 1
        self._latest[table] = version
        return version

    def is_empty(self, spark: SparkSession, table: str) -> bool:
        """Return whether the table is known to have no row; it is read again after each commit."""
        if not _reaches_files(spark):
            return False
        version = self.latest(spark, table)
        known_at, is_empty = self._known_empty.get(table, (None, False))
        if known_at != version:
            is_empty = spark.read.format("delta").load(self.layout.path(table)).isEmpty()
            self._known_empty[table] = version, is_empty
        return is_empty

    def _has_commit(self, spark: SparkSession, table: str, version: int) -> bool:
        context: Any = spark.sparkContext
        path = context._jvm.org.apache.hadoop.fs.Path(  # noqa: SLF001 - PySpark gives no other way to Hadoop's files
            f"{self.layout.path(table)}/_delta_log/{version:020}.json"
        )
        return bool(path.getFileSystem(context._jsc.hadoopConfiguration()).exists(path))  # noqa: SLF001 - nor to its settings


def _reaches_files(spark: SparkSession) -> bool:
    return hasattr(spark, "_jsparkSession")
