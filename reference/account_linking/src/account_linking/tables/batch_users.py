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
    """Users of a batch: their `names`, or a frame `user_refs` of the one column `user_ref` where they are many.

    `ranges` cover names and accounts. Without names and frame: all users.
    """

    user_refs: DataFrame | None = None
    ranges: Mapping[str, Sequence[tuple[str, str]]] | None = None
    names: Sequence[str] | None = None

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
        if table == "accounts":
            return rows
        if self.names is not None:
            return rows.where(_is_one_of("user_ref", self.names))
        return rows if self.user_refs is None else rows.join(self.user_refs, "user_ref", "left_semi")


ALL_USERS: Final = BatchUsers()


@dataclass(frozen=True, slots=True)
class BatchContents:
    """What a batch holds: its distinct users and accounts, as a frame and, up to MAX_ACCOUNTS, as `rows`."""

    named: DataFrame
    rows: Sequence[Row] | None
    has_errors: bool
    has_accounts: bool


def users_and_accounts(rows: DataFrame, good: DataFrame, accounts: DataFrame) -> DataFrame:
    """Return the users and accounts of a batch's bronze rows and of its good transactions and accounts."""
    transactions = good.selectExpr(*HOLDERS, "'transaction' as kind")
    of_accounts = accounts.selectExpr("provider_account_id", "'account' as kind")
    of_users = rows.where("user_ref is not null").selectExpr("user_ref", "'user' as kind")
    with_accounts = transactions.unionByName(of_accounts, allowMissingColumns=True)
    return with_accounts.unionByName(of_users, allowMissingColumns=True)


def read_contents(named: DataFrame, bad: DataFrame) -> BatchContents:
    """Read what a batch holds by one query. `named`: see `users_and_accounts`; `bad`: the records that break a rule."""
    errors = bad.selectExpr("'error' as kind")
    found = named.unionByName(errors, allowMissingColumns=True).distinct().limit(MAX_ACCOUNTS + 1).collect()
    if len(found) > MAX_ACCOUNTS:
        return BatchContents(named, None, has_errors=True, has_accounts=True)
    kinds = {row.kind for row in found}
    return BatchContents(named, found, has_errors="error" in kinds, has_accounts="account" in kinds)


def find_batch_users(contents: BatchContents, good: DataFrame, layout: Layout) -> BatchUsers:
    """Return the users of a batch and of its accounts, now and before.

    When a transaction moves to another user, the months of both change. `holders` names the user before, even if a
    batch was interrupted after the row had moved. New accounts of the `good` rows are appended to `holders` first.
    """
    if contents.rows is None:
        return _users_of_many_accounts(contents.named, good, layout)
    spark = good.sparkSession
    known = _read_known_holders(spark, layout, contents.rows)
    if new := _pairs(contents.rows) - known:
        _append_holders(spark.createDataFrame(sorted(new), _read_holders(spark, layout).schema), layout)
    pairs = _pairs(contents.rows) | known
    users = {user for user, _ in pairs} | _users(contents.rows)
    return _batch_users(users, {account for _, account in pairs} | _accounts(contents.rows))


def _batch_users(names: Iterable[str], accounts: Iterable[str]) -> BatchUsers:
    names, accounts = sorted(names), sorted(accounts)
    ranges = {"user_ref": tuple(_ranges(names)), "provider_account_id": tuple(_ranges(accounts))}
    return BatchUsers(ranges=ranges, names=names)


def named_users(spark: SparkSession, layout: Layout, names: Iterable[str]) -> BatchUsers:
    """Return these users, with the accounts that they have or had."""
    names = set(names)
    pairs = _pairs(_read_holders_of(spark, layout, names).collect())
    return _batch_users(names, {account for _, account in pairs})


def every_user(spark: SparkSession, layout: Layout) -> Iterator[BatchUsers]:
    """Yield all users, in slices of about MAX_ACCOUNTS accounts: a slice's merges take about as long as a batch's.

    One merge of all users would take so long that it conflicts with every batch of a running stream.
    """
    pairs: set[tuple[str, str]] = set()
    last_user = None
    for row in _read_holders(spark, layout).distinct().orderBy("user_ref").toLocalIterator():
        if len(pairs) >= MAX_ACCOUNTS and row.user_ref != last_user:
            yield _batch_users({user for user, _ in pairs}, {account for _, account in pairs})
            pairs = set()
        pairs |= _pairs([row])
        last_user = row.user_ref
    if pairs:
        yield _batch_users({user for user, _ in pairs}, {account for _, account in pairs})


def account_slices(rows: DataFrame) -> Iterator[BatchUsers]:
    """Yield the accounts of rows as ranges of MAX_ACCOUNTS accounts each, of all users."""
    ids = sorted(row[0] for row in rows.select("provider_account_id").distinct().collect())
    for start in range(0, len(ids), MAX_ACCOUNTS):
        part = ids[start : start + MAX_ACCOUNTS]
        yield BatchUsers(ranges={"provider_account_id": ((part[0], part[-1]),)})


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
    users, accounts = _users(row_pairs), _accounts(row_pairs)
    is_known = f"{_is_one_of('user_ref', users)} or {_is_one_of('provider_account_id', accounts)}"
    known = _pairs(_read_holders(spark, layout).where(is_known).select(*HOLDERS).collect())
    others = {user for user, _ in known} - users
    return known | _pairs(_read_holders_of(spark, layout, others).collect()) if others else known


def _read_holders_of(spark: SparkSession, layout: Layout, names: Iterable[str]) -> DataFrame:
    names = sorted(names)
    return BatchUsers(ranges={"user_ref": tuple(_ranges(names))}, names=names).read(layout, "holders", spark)


def _is_one_of(column: str, names: Iterable[str]) -> str:
    """Return SQL that is true where a column is one of these names."""
    return f"{column} in ({', '.join(map(sql_literal, sorted(names)))})" if names else "false"


def _users(rows: Iterable[Row]) -> set[str]:
    return {row.user_ref for row in rows if row.user_ref is not None}


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
