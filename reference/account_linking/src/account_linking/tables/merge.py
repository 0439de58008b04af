"""Writes rows by key, guarded by their revision: a replay, a duplicate or a straggler changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from account_linking.tables.layout import CLUSTERED
from account_linking.tables.users import EVERYBODY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from account_linking.tables.layout import Layout
    from account_linking.tables.users import Users


def merge(
    rows: DataFrame,
    layout: Layout,
    *,
    table: str,
    key: Sequence[str],
    changed: str,
    gone: str = "false",
    users: Users = EVERYBODY,
) -> None:
    """Insert new keys, update where `changed` holds, delete where `gone` does; `s` is the new row, `t` the old one.

    With `users`, whose the rows must be, only files that can hold one of theirs are read: where the key has the column
    that the table is clustered by. Where it has not, a row of the same key may be another user's, and lie anywhere.
    """
    spark = rows.sparkSession
    name = f"merge_{table}"
    rows.createOrReplaceTempView(name)
    skipped = users.condition(table, "t") if CLUSTERED.get(table) in key else "true"
    same = " and ".join(f"t.`{column}` <=> s.`{column}`" for column in key)
    columns = [column for column in rows.columns if not column.startswith("_gone")]
    into = ", ".join(f"`{column}`" for column in columns)
    values = ", ".join(f"s.`{column}`" for column in columns)
    sets = ", ".join(f"t.`{column}` = s.`{column}`" for column in columns)
    spark.sql(
        f"merge into {layout.sql(table)} t using {name} s on {same} and ({skipped}) "
        f"when matched and ({gone}) then delete "
        f"when matched and ({changed}) then update set {sets} "
        f"when not matched and not ({gone}) then insert ({into}) values ({values})"
    )
    spark.catalog.dropTempView(name)
