"""Merges rows by key and revision: a replay, a duplicate or a late record changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from account_linking.tables.batch_users import ALL_USERS
from account_linking.tables.layout import CLUSTERED, TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from account_linking.tables.batch_users import BatchUsers
    from account_linking.tables.layout import Layout

T = TypeVar("T")

CONFLICT_ERRORS: Final = ("DELTA_CONCURRENT_", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED")
"""Delta's error classes of a commit that another writer's commit made impossible. The same statement may run again."""

MAX_ATTEMPTS: Final = 20
"""Attempts of a statement. After each failed one another writer has committed meanwhile: two writers take turns."""

NEWER: Final = (
    "(s.revision > t.revision or (s.revision = t.revision and (s.schema_version > t.schema_version"
    " or (s.schema_version = t.schema_version and s.item_ref > t.item_ref))))"
)
"""SQL of the order of a transaction's states: by revision; a corrected translation of the same revision is later. Two
items with one account can publish it under the same revision: then the item decides, in whichever order they come."""

LATEST: Final = "revision desc, schema_version desc, item_ref desc, source_topic, source_partition, source_offset"
"""The same order, latest first. Of two copies of a record the first counts, as in a stream."""

NEWER_ACCOUNT: Final = "(s.revision > t.revision or (s.revision = t.revision and s.user_ref > t.user_ref))"


def latest(rows: DataFrame, key: Sequence[str], order: str = LATEST) -> DataFrame:
    """Return each key's first row in this order: Delta's MERGE allows one row for each key."""
    ranked = f"row_number() over (partition by {', '.join(key)} order by {order}) as _rank"
    return rows.selectExpr("*", ranked).where("_rank = 1").drop("_rank")


def latest_version(spark: SparkSession, layout: Layout, table: str) -> int:
    """Return the number of the table's latest commit."""
    return int(spark.sql(f"describe history {layout.sql(table)} limit 1").collect()[0].version)


def retry_conflicts(action: Callable[[], T]) -> T:
    """Run an action that commits to a table, again whenever another writer's commit made it impossible."""
    for _ in range(1, MAX_ATTEMPTS):
        try:
            return action()
        except Exception as error:
            if not any(name in str(error) for name in CONFLICT_ERRORS):
                raise
    return action()


def merge(
    rows: DataFrame,
    layout: Layout,
    *,
    table: str,
    key: Sequence[str],
    update_when: str,
    delete_when: str = "false",
    insert_when: str = "true",
    users: BatchUsers = ALL_USERS,
) -> None:
    """Delete rows by `delete_when`, else update by `update_when`, insert by `insert_when`; `s` is new, `t` old.

    With `users`, all rows must be of these users, and Delta reads only files that can have their rows. This needs the
    table's clustering column in the key: otherwise a row with the same key may be another user's, in any file.
    """
    spark = rows.sparkSession
    name = f"merge_{table}"
    rows.createOrReplaceTempView(name)
    file_filter = users.condition(table, "t") if CLUSTERED.get(table) in key else "true"
    same_key = " and ".join(f"t.`{column}` <=> s.`{column}`" for column in key)
    columns = [column for column in rows.columns if column in TABLES[table]]
    into = ", ".join(f"`{column}`" for column in columns)
    values = ", ".join(f"s.`{column}`" for column in columns)
    sets = ", ".join(f"t.`{column}` = s.`{column}`" for column in columns)
    statement = (
        f"merge into {layout.sql(table)} t using {name} s on {same_key} and ({file_filter}) "
        f"when matched and ({delete_when}) then delete "
        f"when matched and ({update_when}) then update set {sets} "
        f"when not matched and ({insert_when}) then insert ({into}) values ({values})"
    )
    retry_conflicts(lambda: spark.sql(statement))
    spark.catalog.dropTempView(name)
