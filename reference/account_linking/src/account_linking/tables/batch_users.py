"""The users and accounts of a batch, as conditions for its reads and merges, so that Delta skips all other files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from account_linking.tables.layout import CLUSTERED, HOLDERS
from account_linking.tables.literals import sql_literal

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
        parts = (
            f"{alias}.{column} between {sql_literal(low)} and {sql_literal(high)}" for low, high in self.ranges[column]
        )
        return " or ".join(f"({part})" for part in parts) or "false"

    def read(self, layout: Layout, table: str, spark: SparkSession, *, version: int | None = None) -> DataFrame:
        """Return a table's rows of these users; of `accounts` all in the ranges: an account may be another user's."""
        reader = spark.read.format("delta").options(**({} if version is None else {"versionAsOf": version}))
        rows = reader.load(layout.path(table)).alias("t").where(self.condition(table, "t"))
        if self.user_refs is None or table == "accounts":
            return rows
        return rows.join(self.user_refs, "user_ref", "left_semi")


ALL_USERS: Final = BatchUsers()


def find_batch_users(
    rows: DataFrame, good: DataFrame, layout: Layout, *, accounts: DataFrame | None = None
) -> BatchUsers:
    """Return the users of bronze rows, of their good rows' accounts and of `accounts`, now and before.

    When a transaction moves to another user, the months of both change. `holders` names the user before, even if a
    batch was interrupted after the row had moved. The good rows' new accounts are appended to `holders` first.
    """
    spark = rows.sparkSession
    named = good.select(*HOLDERS).unionByName(
        rows.where("user_ref is not null").select("user_ref"), allowMissingColumns=True
    )
    if accounts is not None:
        named = named.unionByName(accounts.select("provider_account_id"), allowMissingColumns=True)
    row_pairs = named.distinct().limit(MAX_ACCOUNTS + 1).collect()
    if len(row_pairs) > MAX_ACCOUNTS:
        return _users_of_many_accounts(named, good, layout)
    known = _read_known_holders(spark, layout, row_pairs)
    if new := _pairs(row_pairs) - known:
        _append_holders(spark.createDataFrame(sorted(new), _read_holders(spark, layout).schema), layout)
    pairs = _pairs(row_pairs) | known
    names = {user for user, _ in pairs} | {row.user_ref for row in row_pairs if row.user_ref is not None}
    return _batch_users(spark, names, {account for _, account in pairs} | _accounts(row_pairs))


def _batch_users(spark: SparkSession, names: Iterable[str], accounts: Iterable[str]) -> BatchUsers:
    names, accounts = sorted(names), sorted(accounts)
    ranges = {"user_ref": tuple(_ranges(names)), "provider_account_id": tuple(_ranges(accounts))}
    return BatchUsers(_names_frame(spark, names, "user_ref"), ranges)


def named_users(spark: SparkSession, layout: Layout, names: Iterable[str]) -> BatchUsers:
    """Return these users, with the accounts that they have or had."""
    names = set(names)
    pairs = _pairs(_read_holders_of(spark, layout, names).collect())
    return _batch_users(spark, names, {account for _, account in pairs})


def every_user(spark: SparkSession, layout: Layout) -> Iterator[BatchUsers]:
    """Yield all users, in slices of about MAX_ACCOUNTS accounts: a slice's merges take about as long as a batch's.

    One merge of all users would take so long that it conflicts with every batch of a running stream.
    """
    pairs: set[tuple[str, str]] = set()
    last_user = None
    for row in _read_holders(spark, layout).distinct().orderBy("user_ref").toLocalIterator():
        if len(pairs) >= MAX_ACCOUNTS and row.user_ref != last_user:
            yield _batch_users(spark, {user for user, _ in pairs}, {account for _, account in pairs})
            pairs = set()
        pairs |= _pairs([row])
        last_user = row.user_ref
    if pairs:
        yield _batch_users(spark, {user for user, _ in pairs}, {account for _, account in pairs})


def account_slices(rows: DataFrame) -> Iterator[BatchUsers]:
    """Yield the accounts of rows as ranges of MAX_ACCOUNTS accounts each, of all users."""
    ids = sorted(row[0] for row in rows.select("provider_account_id").distinct().collect())
    for start in range(0, len(ids), MAX_ACCOUNTS):
        part = ids[start : start + MAX_ACCOUNTS]
        yield BatchUsers(None, {"provider_account_id": ((part[0], part[-1]),)})


def _users_of_many_accounts(named: DataFrame, good: DataFrame, layout: Layout) -> BatchUsers:
    append_holders(good, layout)
    holders = _read_holders(named.sparkSession, layout)
    ids = named.select("provider_account_id").distinct()
    users = (
        holders.join(ids, "provider_account_id", "left_semi").select("user_ref").unionByName(named.select("user_ref"))
    )
    return BatchUsers(users.where("user_ref is not null").distinct())


def _read_known_holders(spark: SparkSession, layout: Layout, row_pairs: Sequence[Row]) -> set[tuple[str, str]]:
    """Return the pairs of the rows' users, and of all users who have or had one of the rows' accounts."""
    names = {row.user_ref for row in row_pairs if row.user_ref is not None}
    ids = _names_frame(spark, sorted(_accounts(row_pairs)), "provider_account_id")
    by_account = _read_holders(spark, layout).join(ids, "provider_account_id", "left_semi").select(*HOLDERS)
    known = _pairs(by_account.unionByName(_read_holders_of(spark, layout, names)).collect())
    others = {user for user, _ in known} - names
    return known | _pairs(_read_holders_of(spark, layout, others).collect()) if others else known


def _read_holders_of(spark: SparkSession, layout: Layout, names: Iterable[str]) -> DataFrame:
    names = sorted(names)
    by_user = BatchUsers(_names_frame(spark, names, "user_ref"), {"user_ref": tuple(_ranges(names))})
    return by_user.read(layout, "holders", spark).select(*HOLDERS)


def _names_frame(spark: SparkSession, names: Sequence[str], column: str) -> DataFrame:
    return spark.createDataFrame([(name,) for name in names], f"{column} string").hint("broadcast")


def _accounts(rows: Iterable[Row]) -> set[str]:
    return {row.provider_account_id for row in rows if row.provider_account_id is not None}


def _read_holders(spark: SparkSession, layout: Layout) -> DataFrame:
    return spark.read.format("delta").load(layout.path("holders"))


def append_holders(rows: DataFrame, layout: Layout) -> None:
    """Append the rows' pairs of user and account that `holders` does not have."""
    holders = _read_holders(rows.sparkSession, layout)
    _append_holders(rows.select(*HOLDERS).distinct().join(holders, [*HOLDERS], "left_anti"), layout)


def _append_holders(holders: DataFrame, layout: Layout) -> None:
    holders.coalesce(1).write.format("delta").mode("append").save(layout.path("holders"))


def _pairs(rows: Iterable[Row]) -> set[tuple[str, str]]:
    return {
        (row.user_ref, row.provider_account_id) for row in rows if None not in (row.user_ref, row.provider_account_id)
    }


def _ranges(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Cut sorted names into at most MAX_RANGES pairs of first and last name."""
    size = -(-len(names) // MAX_RANGES) or 1
    for start in range(0, len(names), size):
        part = names[start : start + size]
        yield part[0], part[-1]
