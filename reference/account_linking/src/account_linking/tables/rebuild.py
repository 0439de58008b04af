"""Computes the tables again from bronze, by the current translation and rules, beside the running stream.

Tables keep their history of versions, so that the `sequence` of published events grows on. Each row is compared with
the row that was read, and replaced or deleted only if no other writer has replaced it meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from account_linking.tables import bronze, classify
from account_linking.tables.batch_users import account_slices, append_holders, every_user
from account_linking.tables.ingest import SOURCE_POSITION, quarantine_rows
from account_linking.tables.layout import ACCOUNTS, KEY, QUARANTINE, SILVER
from account_linking.tables.merge import NEWER, NEWER_ACCOUNT, latest, latest_version, merge
from account_linking.tables.translate import latest_accounts, translate, translate_accounts
from account_linking.tables.versions import Versions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from account_linking.tables.layout import Layout

UNCHANGED: Final = "(t.revision <=> s._old_revision and {hash} <=> s._old_hash)"
"""SQL: the table's row is still the row that was read."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """Numbers of rows that differed from the tables."""

    silver: int
    accounts: int
    quarantine: int


def rebuild(spark: SparkSession, layout: Layout) -> Rebuilt:
    """Compute all tables after bronze again. The result is that of the topics' history in empty tables."""
    layout.create(spark)
    tables = ("silver", "accounts", "quarantine")
    # Read before bronze, which gets every record earlier: so bronze has the record of every row of these versions.
    # Without a version Delta reads the latest one whenever the frame is computed.
    old = {table: _read_version(spark, layout, table) for table in tables}
    rows = bronze.read_bronze(spark, layout)
    translated, accounts = translate(rows).persist(), translate_accounts(rows).persist()
    try:
        good = latest(translated.where("size(errors) = 0").select(*SILVER), KEY)
        good_accounts = latest_accounts(accounts.where("size(errors) = 0").select(*ACCOUNTS))
        rebuilt = Rebuilt(
            quarantine=_rebuild_quarantine(old["quarantine"], quarantine_rows(rows, translated, accounts), layout),
            accounts=_rebuild_table(old["accounts"], good_accounts, layout, table="accounts"),
            silver=_rebuild_table(old["silver"], good, layout, table="silver"),
        )
    finally:
        translated.unpersist()
        accounts.unpersist()
    versions = Versions(layout)
    for users in every_user(spark, layout):
        classify.refresh(spark, versions, users, removes=True)
    return rebuilt


def _read_version(spark: SparkSession, layout: Layout, table: str) -> DataFrame:
    """Return the table's rows of now, whatever is written later."""
    reader = spark.read.format("delta").option("versionAsOf", latest_version(spark, layout, table))
    return reader.load(layout.path(table))


def _rebuild_table(old: DataFrame, new: DataFrame, layout: Layout, *, table: str) -> int:
    """Write the rows that differ, and delete those that bronze does not give any more; return their number."""
    key, columns, newer = (KEY, SILVER, NEWER) if table == "silver" else (KEY[:2], ACCOUNTS, NEWER_ACCOUNT)
    changed = _differences(old, new, key=key, columns=columns).localCheckpoint()
    if table == "silver":
        append_holders(changed.where("not _removed"), layout)
    is_unchanged = UNCHANGED.format(hash=_hash(columns, "t."))
    for users in account_slices(changed):
        merge(
            changed.alias("s").where(users.condition(table, "s")),
            layout,
            table=table,
            key=key,
            update_when=f"not s._removed and ({newer} or {is_unchanged})",
            delete_when=f"s._removed and {is_unchanged}",
            insert_when="not s._removed",
            users=users,
        )
    return changed.count()


def _differences(old: DataFrame, new: DataFrame, *, key: Sequence[str], columns: Mapping[str, str]) -> DataFrame:
    """Return new rows that differ from the old row of their key, and keys without a new row with `_removed`."""
    old_rows = old.selectExpr(*key, "revision as _old_revision", f"{_hash(columns)} as _old_hash")
    new_rows = new.selectExpr(*columns, f"{_hash(columns)} as _hash")
    joined = new_rows.join(old_rows, [*key], "full_outer").where("not (_hash <=> _old_hash)")
    return joined.selectExpr("*", "_hash is null as _removed")


def _hash(columns: Mapping[str, str], alias: str = "") -> str:
    return f"sha2(to_json(struct({', '.join(f'{alias}`{name}`' for name in columns)})), 256)"


def _rebuild_quarantine(old: DataFrame, bad: DataFrame, layout: Layout) -> int:
    """Write rows that break a rule now, and mark those that break none any more as replayed; return their number."""
    content = {name: kind for name, kind in QUARANTINE.items() if name != "rule_version"}
    old_rows = old.selectExpr(*SOURCE_POSITION, f"{_hash(content)} as _old_hash")
    broken = bad.selectExpr("*", f"{_hash(content)} as _hash").join(old_rows, [*SOURCE_POSITION], "left")
    passed = old.where("replayed_at is null").join(bad, [*SOURCE_POSITION], "left_anti").drop("replayed_at")
    changed = (
        broken.where("not (_hash <=> _old_hash)")
        .select(*QUARANTINE)
        .unionByName(passed.selectExpr("*", "current_timestamp() as replayed_at").select(*QUARANTINE))
        .localCheckpoint()
    )
    if count := changed.count():
        merge(changed, layout, table="quarantine", key=SOURCE_POSITION, update_when="true")
    return count
