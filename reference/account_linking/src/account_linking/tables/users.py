"""Whose rows a batch is about: what its reads and merges say, so that Delta skips the files of everybody else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from account_linking.tables.layout import CLUSTERED, HOLDERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, Row, SparkSession

    from account_linking.tables.layout import Layout

RANGES: Final = 64
"""How many ranges of a column a condition names. Each is checked against the statistics of every file; with a list of
values (IN) Delta checks only the smallest and the largest, which skips nothing."""

MOST: Final = 5_000
"""How many accounts a batch may name. Beyond, 64 ranges of ids without an order leave no file out: all are read."""


@dataclass(frozen=True, slots=True)
class Users:
    """Users of a batch. `among` has one column `user_ref`; `ranges` hold their refs and accounts. None: everybody's."""

    among: DataFrame | None = None
    ranges: Mapping[str, Sequence[tuple[str, str]]] | None = None

    def condition(self, table: str, alias: str) -> str:
        """Return SQL that holds for every row that these users have in a table."""
        column = CLUSTERED.get(table)
        if self.ranges is None or column is None:
            return "true"
        parts = (f"{alias}.{column} between {_literal(low)} and {_literal(high)}" for low, high in self.ranges[column])
        return " or ".join(f"({part})" for part in parts) or "false"

    def read(self, layout: Layout, table: str, spark: SparkSession) -> DataFrame:
        """Return a table's rows of these users."""
        rows = spark.read.format("delta").load(layout.path(table)).alias("t").where(self.condition(table, "t"))
        return rows if self.among is None else rows.join(self.among, "user_ref", "left_semi")


EVERYBODY: Final = Users()


def users(rows: DataFrame, good: DataFrame, layout: Layout) -> Users:
    """Return the users of bronze rows. Which accounts the good rows are of is kept first, before silver holds them."""
    spark = rows.sparkSession
    among = rows.where("user_ref is not null").select("user_ref")
    mine = good.select(*HOLDERS)
    found = mine.unionByName(among, allowMissingColumns=True).distinct().limit(MOST + 1).collect()
    if len(found) > MOST:
        _keep(mine.distinct().join(_held(spark, layout), [*HOLDERS], "left_anti"), layout)
        return Users(among.distinct())
    names = sorted({row.user_ref for row in found})
    known = spark.createDataFrame([(name,) for name in names], "user_ref string").hint("broadcast")
    of_users = Users(known, {"user_ref": tuple(_ranges(names))})
    held = of_users.read(layout, "holders", spark).select(*HOLDERS).collect()
    if new := _pairs(found) - _pairs(held):
        _keep(spark.createDataFrame(sorted(new), _held(spark, layout).schema), layout)
    accounts = sorted({account for _, account in _pairs(found) | _pairs(held)})
    return Users(known, {**(of_users.ranges or {}), "provider_account_id": tuple(_ranges(accounts))})


def _held(spark: SparkSession, layout: Layout) -> DataFrame:
    return spark.read.format("delta").load(layout.path("holders"))


def _keep(holders: DataFrame, layout: Layout) -> None:
    holders.coalesce(1).write.format("delta").mode("append").save(layout.path("holders"))


def _pairs(rows: Iterable[Row]) -> set[tuple[str, str]]:
    return {(row.user_ref, row.provider_account_id) for row in rows if row.provider_account_id is not None}


def _ranges(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Cut sorted names into RANGES pairs of first and last, or fewer."""
    size = -(-len(names) // RANGES) or 1
    for start in range(0, len(names), size):
        part = names[start : start + size]
        yield part[0], part[-1]


def _literal(text: str) -> str:
    """Return a string of SQL. MERGE takes no parameters and a name is input: all but letters and digits is escaped."""
    return "'" + "".join(each if each.isascii() and each.isalnum() else f"\\U{ord(each):08X}" for each in text) + "'"
