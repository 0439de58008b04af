"""A batch reads and rewrites no more files as the history grows, and maintenance changes no row."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from account_linking.demo.sample_records import bought, ingest_records, with_user
from account_linking.tables.batch_users import MAX_RANGES, find_batch_users, read_contents, users_and_accounts
from account_linking.tables.layout import CLUSTERED, KEY
from account_linking.tables.maintenance import maintain_tables
from account_linking.tables.merge import merge

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from account_linking.tables.batch_users import BatchUsers
    from account_linking.tables.layout import Layout


def grow(spark: SparkSession, layout: Layout, *, people: range, files: int) -> None:
    """Append three transactions of each user to silver, clustered as OPTIMIZE would."""
    rows = spark.range(people.start * 3, people.stop * 3).selectExpr(
        "'plaid' as provider",
        "format_string('account-%05d', id div 3) as provider_account_id",
        "cast(id as string) as provider_transaction_id",
        "format_string('user-%05d', id div 3) as user_ref",
        "cast(1 as bigint) as revision",
    )
    clustered = rows.repartitionByRange(files, "provider_account_id")
    clustered.write.format("delta").mode("append").save(layout.path("silver"))


def users_in(rows: DataFrame, layout: Layout) -> BatchUsers:
    """Return the batch's users, where these rows are all that it has."""
    nothing = rows.limit(0)
    return find_batch_users(read_contents(users_and_accounts(rows, rows, nothing), nothing), rows, layout)


def merge_user(spark: SparkSession, layout: Layout, user: str, *, revision: int) -> dict[str, int]:
    """Update a user's transactions; return the numbers of files in silver, read, and rewritten."""
    silver = spark.read.format("delta").load(layout.path("silver"))
    user_rows = silver.where(f"user_ref = '{user}'")
    batch_users = users_in(user_rows, layout)
    found = silver.alias("t").where(batch_users.condition("silver", "t"))
    files, read = len(silver.inputFiles()), len(found.inputFiles())
    rows = (
        batch_users.read(layout, "silver", spark)
        .drop("revision")
        .selectExpr("*", f"cast({revision} as bigint) as revision")
    )
    newer = "s.revision > t.revision"
    merge(rows.localCheckpoint(), layout, table="silver", key=KEY, update_when=newer, users=batch_users)
    done = spark.sql(f"describe history {layout.sql('silver')} limit 1").collect()[0].operationMetrics
    return {
        "files": files,
        "read": read,
        **{name: int(done[f"numTarget{name}"]) for name in ("FilesRemoved", "RowsUpdated", "RowsCopied")},
    }


def test_a_batch_reads_and_rewrites_no_more_of_ten_times_the_history(spark: SparkSession, layout: Layout) -> None:
    grow(spark, layout, people=range(40), files=2)
    small = merge_user(spark, layout, "user-00030", revision=2)
    grow(spark, layout, people=range(40, 400), files=18)

    large = merge_user(spark, layout, "user-00030", revision=3)

    assert large["files"] >= 10 * small["files"]
    assert (small["RowsUpdated"], large["RowsUpdated"]) == (3, 3)
    assert large["FilesRemoved"] <= large["read"] <= 2
    assert large["RowsCopied"] <= small["RowsCopied"]


def test_maintenance_changes_no_row_and_leaves_one_file_of_many(spark: SparkSession, layout: Layout) -> None:
    grow(spark, layout, people=range(3), files=3)
    before = sorted(spark.read.format("delta").load(layout.path("silver")).collect(), key=str)

    maintain_tables(spark, layout, tables=["silver"])

    detail = spark.sql(f"describe detail {layout.sql('silver')}").collect()[0]
    assert sorted(spark.read.format("delta").load(layout.path("silver")).collect(), key=str) == before
    assert (list(detail.clusteringColumns), detail.numFiles) == ([CLUSTERED["silver"]], 1)


def test_a_condition_is_true_for_every_user_and_account_with_any_name(spark: SparkSession, layout: Layout) -> None:
    odd = ["", "o'brien", 'a"b', "back\\slash", "${spark.app.name}", "Ünï☂", "🦆", "a\nb", "--"]
    names = [*odd, *map(str, range(500))]
    rows = spark.createDataFrame(
        [(name, f"of {name}") for name in names], "user_ref string, provider_account_id string"
    )
    seven, empty = rows.where("user_ref = '7'"), rows.limit(0)

    everyone, one, none = (users_in(each, layout) for each in (rows, seven, empty))

    conditions = [each.condition(table, "t") for each in (everyone, one, none) for table in ("accounts", "silver")]
    assert max(len(ranges) for ranges in (everyone.ranges or {}).values()) <= MAX_RANGES
    assert [rows.alias("t").where(each).count() for each in conditions] == [509, 509, 1, 1, 0, 0]


@pytest.mark.long  # several batches
def test_rows_of_a_joint_account_move_to_the_user_of_the_later_fetch(spark: SparkSession, layout: Layout) -> None:
    first, later = bought("anna", account="joint"), bought("anna", account="joint", revision=5)
    ingest_records(spark, layout, [first, bought("anna", 1, account="her own")], offset=0)

    ingest_records(spark, layout, [with_user("bob", later)], offset=1000)
    ingest_records(spark, layout, [first], offset=2000)

    silver, classified = (spark.read.format("delta").load(layout.path(table)) for table in ("silver", "classified"))
    expected = [("her own", "anna", 1), ("joint", "bob", 5)]
    for table in (silver, classified):
        assert sorted((row.provider_account_id, row.user_ref, row.revision) for row in table.collect()) == expected


def test_missing_holders_are_created_from_silver(spark: SparkSession, layout: Layout) -> None:
    grow(spark, layout, people=range(2), files=1)
    shutil.rmtree(layout.path("holders"))

    layout.create(spark)

    rows = spark.read.format("delta").load(layout.path("holders")).collect()
    assert sorted(tuple(row) for row in rows) == [("user-00000", "account-00000"), ("user-00001", "account-00001")]


def test_a_batch_of_too_many_accounts_reads_all_files_and_adds_its_holders(spark: SparkSession, layout: Layout) -> None:
    rows = spark.createDataFrame([("anna", "a"), ("bob", "b")], ["user_ref", "provider_account_id"])
    users_in(rows.where("user_ref = 'anna'"), layout)
    monkeypatch = pytest.MonkeyPatch()
    with monkeypatch.context() as patched:
        patched.setattr("account_linking.tables.batch_users.MAX_ACCOUNTS", 1)
        found = users_in(rows, layout)

    holders = spark.read.format("delta").load(layout.path("holders")).collect()
    assert sorted(tuple(row) for row in holders) == [("anna", "a"), ("bob", "b")]
    assert found.condition("silver", "t") == "true"
    assert found.user_refs is not None
    assert sorted(row.user_ref for row in found.user_refs.collect()) == ["anna", "bob"]
