"""The size of a batch: a small one runs in one task for each stage, where a local Spark would start a dozen."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

MAX_SMALL_ROWS: Final = 5_000
MAX_SMALL_BYTES: Final = 16 << 20
"""Maximum of records and of their bytes in a small batch. One task translates so many in two seconds."""

LOCAL_SETTINGS: Final = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.databricks.delta.merge.materializeSource": "none",  # sources of a small batch are checkpoints
}
"""Settings for a small batch in a local Spark. A cluster keeps its own: it coalesces partitions while a query runs, and
the tables of which a small batch reads a few files can be large."""


def batch_size(rows: DataFrame) -> tuple[int, int]:
    """Return the number of a batch's bronze rows, and the bytes of their values."""
    found = rows.selectExpr("count(*) as n", "coalesce(sum(octet_length(value)), 0) as b").collect()[0]
    return found.n, found.b


def is_small(size: tuple[int, int]) -> bool:
    """Return whether a batch of so many rows and bytes is small."""
    return size[0] <= MAX_SMALL_ROWS and size[1] <= MAX_SMALL_BYTES


def in_one_partition(rows: DataFrame, *, small: bool) -> DataFrame:
    """Return the rows, in one partition if they are those of a small batch."""
    return rows.coalesce(1) if small else rows


@contextmanager
def one_task_a_stage(spark: SparkSession, *, small: bool) -> Iterator[None]:
    """Set LOCAL_SETTINGS while a small batch is written by a local Spark."""
    is_local = (spark.conf.get("spark.master", None) or "").startswith("local")
    settings = LOCAL_SETTINGS if small and is_local else {}
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            spark.conf.unset(name) if old is None else spark.conf.set(name, old)
