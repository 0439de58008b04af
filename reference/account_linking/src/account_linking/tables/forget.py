"""Deletes a user from every table, and sends a tombstone for each of the user's transactions, on request.

The store's items are deleted first (`python -m account_linking.store forget`): then no worker fetches for the user. The
raw topics still have the user's records until their retention ends; `forgotten` keeps them out of the tables, also when
a topic is read again. Files of old versions leave the disk with the first `maintain` after a week.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from account_linking.tables.classify import uuid5
from account_linking.tables.layout import CONTENT, FORGOTTEN, FORGOTTEN_VERSION, KEY
from account_linking.tables.literals import sql_literal
from account_linking.tables.merge import retry_conflicts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from account_linking.tables.layout import Layout

TABLES_OF_USER: Final = (
    "overrides",
    "rules",
    "monthly",
    "accounts",
    "quarantine",
    "classified",
    "silver",
    "holders",
    "bronze",
)
"""Derived tables first: a batch that runs meanwhile finds nothing to derive them from again."""


def forget(spark: SparkSession, layout: Layout, user: str) -> dict[str, int]:
    """Delete a user's rows; return the number of rows by table. Again for the same user: what came in between."""
    layout.create(spark)
    by_user = f"user_ref = {sql_literal(user)}"
    find = f"select distinct item_ref from {layout.sql('bronze')} where {by_user} and item_ref is not null"
    items = [row.item_ref for row in spark.sql(find).collect()]
    _remember(spark, layout, user)
    _send_tombstones(spark, layout, by_user)
    counts = {}
    for table in TABLES_OF_USER:
        condition = f"{by_user} or ({_is_quarantined_of(items)})" if table == "quarantine" and items else by_user
        counts[table] = _change(spark, f"delete from {layout.sql(table)} where {condition}")
    return counts


def _is_quarantined_of(items: Sequence[str]) -> str:
    """Return SQL that is true for quarantined records without a user, of an item that was this user's."""
    return f"user_ref is null and item_ref in ({', '.join(map(sql_literal, items))})"


def without_forgotten(rows: DataFrame, layout: Layout) -> DataFrame:
    """Return bronze rows without those of forgotten users that were received before the user was forgotten."""
    spark = rows.sparkSession
    forgotten = _read(spark, layout, "forgotten").groupBy("user_sha256").agg({"forgotten_at": "max"}).collect()
    if not forgotten:
        return rows
    times = spark.createDataFrame(forgotten, "user_sha256 string, forgotten_at timestamp").hint("broadcast")
    keyed = rows.selectExpr("*", "sha2(user_ref, 256) as user_sha256")
    is_old = "received_at > forgotten_at or forgotten_at is null"
    return keyed.join(times, "user_sha256", "left").where(is_old).select(*rows.columns)


def _remember(spark: SparkSession, layout: Layout, user: str) -> None:
    """Write down that the user is forgotten: by a hash of the name, and before the rows are deleted."""
    row = (hashlib.sha256(user.encode()).hexdigest(), datetime.now(UTC))
    rows = spark.createDataFrame([row], ", ".join(f"{name} {kind}" for name, kind in FORGOTTEN.items()))
    rows.coalesce(1).write.format("delta").mode("append").save(layout.path("forgotten"))


def _send_tombstones(spark: SparkSession, layout: Layout, by_user: str) -> None:
    """Mark the user's classified rows, so that the stream of changes sends a record without a value for each."""
    name = f"concat_ws('|', {', '.join(KEY)}, 'FORGOTTEN')"  # an event of its own: consumers drop ids that they have
    cleared = ", ".join(f"`{name}` = null" for name in (*CONTENT, "class", "class_confidence", "transfer_of"))
    _change(
        spark,
        f"update {layout.sql('classified')} set {cleared}, is_deleted = true, class_source = 'deleted',"
        f" class_version = '{FORGOTTEN_VERSION}', content_sha256 = null, event_id = {uuid5(name)} where {by_user}",
    )


def _change(spark: SparkSession, statement: str) -> int:
    """Run a statement, again after a conflict with a batch of the stream; return the number of rows."""
    return retry_conflicts(lambda: int(spark.sql(statement).collect()[0][0]))


def _read(spark: SparkSession, layout: Layout, table: str) -> DataFrame:
    return spark.read.format("delta").load(layout.path(table))
