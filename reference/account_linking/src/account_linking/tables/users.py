"""Whose rows a batch is about: what its reads and merges say, so that Delta skips the files of everybody else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from account_linking.tables.layout import Layout

RANGES: Final = 64
"""How many ranges of users a condition names. Each is checked against the statistics of every file; with a list of
values (IN) Delta checks only the smallest and the largest, which skips nothing."""

MOST: Final = 20_000
"""How many users a batch may name. It is read whole beyond: a history, or everybody's classes."""


MOST_BROADCAST: Final = 200_000
"""Rows of a join's smaller side that every core gets whole: some 100 bytes each, 20 MB."""


@dataclass(frozen=True, slots=True)
class Users:
    """Users of a batch; `among` has one column `user_ref`, and without it everybody is meant. `many` name no ranges."""

    among: DataFrame | None = None
    many: bool = False
    ranges: tuple[tuple[str, str], ...] = ()

    def condition(self, column: str) -> str:
        """Return SQL that holds for every row of these users."""
        if self.among is None or self.many:
            return "true"
        parts = (f"({column} between {_literal(low)} and {_literal(high)})" for low, high in self.ranges)
        return " or ".join(parts) or "false"

    def read(self, layout: Layout, table: str, spark: SparkSession) -> DataFrame:
        """Return a table's rows of these users."""
        rows = spark.read.format("delta").load(layout.path(table)).where(self.condition("user_ref"))
        return rows if self.among is None else rows.join(self.among, "user_ref", "left_semi")


EVERYBODY: Final = Users()


def users(rows: DataFrame) -> Users:
    """Return the users of these rows."""
    among = rows.where("user_ref is not null").select("user_ref").distinct()
    found = sorted(row.user_ref for row in among.limit(MOST + 1).collect())
    if len(found) > MOST:
        return Users(among, many=True)
    known = rows.sparkSession.createDataFrame([(name,) for name in found], "user_ref string")
    return Users(known.hint("broadcast"), ranges=tuple(_ranges(found)))


def sized(rows: DataFrame) -> DataFrame:
    """Say how large rows are that are joined to many: Spark sorts both sides of a join where it cannot know."""
    count = rows.limit(MOST_BROADCAST + 1).count()
    if count > MOST_BROADCAST:
        return rows
    return rows.hint("broadcast") if count else rows.limit(0)


def _ranges(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Cut sorted names into RANGES pairs of first and last, or fewer."""
    size = -(-len(names) // RANGES) or 1
    for start in range(0, len(names), size):
        part = names[start : start + size]
        yield part[0], part[-1]


def _literal(text: str) -> str:
    """Return a string of SQL. MERGE takes no parameters and a name is input: all but letters and digits is escaped."""
    return "'" + "".join(each if each.isascii() and each.isalnum() else f"\\U{ord(each):08X}" for each in text) + "'"
