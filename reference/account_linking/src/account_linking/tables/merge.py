"""Merges rows by key and revision: a replay, a duplicate or a late record changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from account_linking.tables.batch_users import ALL_USERS
from account_linking.tables.layout import CLUSTERED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from account_linking.tables.batch_users import BatchUsers
    from account_linking.tables.layout import Layout


def merge(
    rows: DataFrame,
    layout: Layout,
    *,
    table: str,
    key: Sequence[str],
    update_when: str,
    delete_when: str = "false",
    users: BatchUsers = ALL_USERS,
) -> None:
    """Insert new keys, update rows by `update_when`, delete by `delete_when`; `s` is the new row, `t` the old row.

    With `users`, all rows must be of these users, and Delta reads only files that can have their rows. This needs the
    table's clustering column in the key: otherwise a row with the same key may be another user's, in any file.
    """
    spark = rows.sparkSession
    name = f"merge_{table}"
    rows.createOrReplaceTempView(name)
    file_filter = users.condition(table, "t") if CLUSTERED.get(table) in key else "true"
    same_key = " and ".join(f"t.`{column}` <=> s.`{column}`" for column in key)
    columns = [column for column in rows.columns if not column.startswith("_removed")]
    into = ", ".join(f"`{column}`" for column in columns)
    values = ", ".join(f"s.`{column}`" for column in columns)
    sets = ", ".join(f"t.`{column}` = s.`{column}`" for column in columns)
    spark.sql(
        f"merge into {layout.sql(table)} t using {name} s on {same_key} and ({file_filter}) "
        f"when matched and ({delete_when}) then delete "
        f"when matched and ({update_when}) then update set {sets} "
        f"when not matched and not ({delete_when}) then insert ({into}) values ({values})"
    )
    spark.catalog.dropTempView(name)
