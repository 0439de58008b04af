"""The users and accounts of a batch, as conditions for its reads and merges, so that Delta skips all other files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from account_linking.tables.layout import CLUSTERED, HOLDERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, Row, SparkSession

    from account_linking.tables.layout import Layout

MAX_RANGES: Final = 64
"""Maximum of ranges in a condition. Delta checks each range against the statistics of every file; of a list of values
(IN) it checks only the smallest and the largest, which skips nothing."""

MAX_ACCOUNTS: Final = 5_000
"""Maximum of accounts that a batch names. With more, 64 ranges of random ids skip no file: all are read."""


@dataclass(frozen=True, slots=True)
class BatchUsers:
    """Users of a batch. `user_refs` has one column `user_ref`; `ranges` cover refs and accounts. None: all users."""

    user_refs: DataFrame | None = None
    ranges: Mapping[str, Sequence[tuple[str, str]]] | None = None

    def condition(self, table: str, alias: str) -> str:
        """Return SQL that is true for every row of these users in a table."""
        column = CLUSTERED.get(table)
        if self.ranges is None or column is None:
            return "true"
        parts = (f"{alias}.{column} between {_literal(low)} and {_literal(high)}" for low, high in self.ranges[column])
        return " or ".join(f"({part})" for part in parts) or "false"

    def read(self, layout: Layout, table: str, spark: SparkSession) -> DataFrame:
        """Return a table's rows of these users."""
        rows = spark.read.format("delta").load(layout.path(table)).alias("t").where(self.condition(table, "t"))
        return rows if self.user_refs is None else rows.join(self.user_refs, "user_ref", "left_semi")


ALL_USERS: Final = BatchUsers()


def find_batch_users(rows: DataFrame, good: DataFrame, layout: Layout) -> BatchUsers:
    """Return the users of bronze rows. Appends the good rows' new accounts to `holders`, before silver has the rows."""
    spark = rows.sparkSession
    user_refs = rows.where("user_ref is not null").select("user_ref")
    new_holders = good.select(*HOLDERS)
    row_pairs = (
        new_holders.unionByName(user_refs, allowMissingColumns=True).distinct().limit(MAX_ACCOUNTS + 1).collect()
    )
    if len(row_pairs) > MAX_ACCOUNTS:
        _append_holders(new_holders.distinct().join(_read_holders(spark, layout), [*HOLDERS], "left_anti"), layout)
        return BatchUsers(user_refs.distinct())
    names = sorted({row.user_ref for row in row_pairs})
    known_users = spark.createDataFrame([(name,) for name in names], "user_ref string").hint("broadcast")
    by_user = BatchUsers(known_users, {"user_ref": tuple(_ranges(names))})
    known_holders = by_user.read(layout, "holders", spark).select(*HOLDERS).collect()
    if new := _pairs(row_pairs) - _pairs(known_holders):
        _append_holders(spark.createDataFrame(sorted(new), _read_holders(spark, layout).schema), layout)
    accounts = sorted({account for _, account in _pairs(row_pairs) | _pairs(known_holders)})
    return BatchUsers(known_users, {**(by_user.ranges or {}), "provider_account_id": tuple(_ranges(accounts))})


def _read_holders(spark: SparkSession, layout: Layout) -> DataFrame:
    return spark.read.format("delta").load(layout.path("holders"))


def _append_holders(holders: DataFrame, layout: Layout) -> None:
    holders.coalesce(1).write.format("delta").mode("append").save(layout.path("holders"))


def _pairs(rows: Iterable[Row]) -> set[tuple[str, str]]:
    return {(row.user_ref, row.provider_account_id) for row in rows if row.provider_account_id is not None}


def _ranges(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Cut sorted names into at most MAX_RANGES pairs of first and last name."""
    size = -(-len(names) // MAX_RANGES) or 1
    for start in range(0, len(names), size):
        part = names[start : start + size]
        yield part[0], part[-1]


def _literal(text: str) -> str:
    """Return an SQL string literal. MERGE takes no parameters, and ids are input: all but [A-Za-z0-9] is escaped."""
    return "'" + "".join(each if each.isascii() and each.isalnum() else f"\\U{ord(each):08X}" for each in text) + "'"
