"""What a batch reads and writes as the history grows, and that upkeep changes no row."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from account_linking.demo.rumour import frame
from account_linking.names import raw_topic
from account_linking.requester.worker import Outgoing
from account_linking.tables.__main__ import main
from account_linking.tables.flow import Flow
from account_linking.tables.layout import CLUSTERED, OWNED, TABLES
from account_linking.tables.merge import merge
from account_linking.tables.upkeep import upkeep
from account_linking.tables.users import RANGES, users

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from account_linking.tables.layout import Layout

SMALL_FILE = 6_000
"""Bytes: small enough that a test's table is many files."""


def bought(user: str, number: int = 0, *, revision: int = 1, account: str = "") -> Outgoing:
    value = {
        "transaction_id": f"{user}-{number}",
        "account_id": account or f"account-of-{user}",
        "amount": 12.5 + revision,
        "iso_currency_code": "USD",
        "date": "2026-06-01",
        "name": "Thing",
        "pending": False,
    }
    headers = {"item": "i", "user": user, "op": "UPSERT", "revision": str(revision)}
    return Outgoing(
        topic=raw_topic("plaid", "transactions"),
        key=f"plaid|{value['account_id']}",
        value=json.dumps(value).encode(),
        headers=tuple((name, text.encode()) for name, text in headers.items()),
    )


def grow(spark: SparkSession, layout: Layout, *, people: range) -> None:
    """Append three transactions of each to silver, in no order, and keep it up."""
    rows = spark.range(people.start * 3, people.stop * 3).selectExpr(
        "'plaid' as provider",
        "concat('account-', id div 3) as provider_account_id",
        "cast(id as string) as provider_transaction_id",
        "format_string('user-%05d', id div 3) as user_ref",
        "sha2(cast(id as string), 512) as description_raw",
        "cast(1 as bigint) as revision",
    )
    rows.orderBy("description_raw").write.format("delta").mode("append").save(layout.path("silver"))
    upkeep(spark, layout, tables=["silver"], file_bytes=SMALL_FILE)


def take(spark: SparkSession, layout: Layout, records: Sequence[Outgoing], *, offset: int) -> None:
    Flow(layout).take(frame(spark, list(enumerate(records, offset))))


def contents(spark: SparkSession, layout: Layout) -> dict[str, list[str]]:
    return {
        table: sorted(str(row) for row in spark.read.format("delta").load(layout.path(table)).collect())
        for table in ("bronze", "silver", "classified", "monthly")
    }


def merged(spark: SparkSession, layout: Layout, user: str, *, revision: int) -> dict[str, int]:
    """Change a user's transactions; return the files that there are, may be read, and were rewritten."""
    silver = spark.read.format("delta").load(layout.path("silver"))
    whose = users(spark.createDataFrame([(user,)], "user_ref string"))
    found = silver.where(whose.condition("user_ref"))
    files, read = len(silver.inputFiles()), len(found.inputFiles())
    rows = (
        whose.read(layout, "silver", spark).drop("revision").selectExpr("*", f"cast({revision} as bigint) as revision")
    )
    newer = "s.revision > t.revision"
    merge(rows.localCheckpoint(), layout, table="silver", key=OWNED, changed=newer, users=whose)
    done = spark.sql(f"describe history {layout.sql('silver')} limit 1").collect()[0].operationMetrics
    return {
        "files": files,
        "read": read,
        **{name: int(done[f"numTarget{name}"]) for name in ("FilesRemoved", "RowsUpdated", "RowsCopied")},
    }


def test_a_batch_reads_and_rewrites_no_more_of_ten_times_the_history(spark: SparkSession, layout: Layout) -> None:
    grow(spark, layout, people=range(60))
    small = merged(spark, layout, "user-00030", revision=2)
    grow(spark, layout, people=range(60, 600))

    large = merged(spark, layout, "user-00030", revision=3)

    assert large["files"] > large["read"]
    assert (small["RowsUpdated"], large["RowsUpdated"]) == (3, 3)
    assert large["FilesRemoved"] <= large["read"] <= 2
    assert large["RowsCopied"] <= small["RowsCopied"] + 10  # and not ten times as many


def test_upkeep_changes_no_row_and_tables_are_clustered_by_user(spark: SparkSession, layout: Layout) -> None:
    for number in range(2):
        take(spark, layout, [bought(f"user-{number}", n) for n in range(4)], offset=number * 1000)
    before = contents(spark, layout)

    code = main(["upkeep", "--tables", layout.root], spark)

    details = {table: spark.sql(f"describe detail {layout.sql(table)}").collect()[0] for table in TABLES}
    assert code == 0
    assert contents(spark, layout) == before
    assert {table for table, row in details.items() if list(row.clusteringColumns) == ["user_ref"]} == set(CLUSTERED)
    assert {row.numFiles for table, row in details.items() if table in {"bronze", "silver", "classified"}} == {1}


def test_a_users_condition_holds_for_every_user_whatever_the_name(spark: SparkSession) -> None:
    names = [
        "",
        "o'brien",
        'a"b',
        "back\\slash",
        "${spark.app.name}",
        "Ünï☂",
        "🦆",
        "a\nb",
        "--",
        *map(str, range(500)),
    ]
    frame_of = spark.createDataFrame([(name,) for name in names], "user_ref string")

    found = users(frame_of)

    assert len(found.ranges) <= RANGES
    assert frame_of.where(found.condition("user_ref")).count() == len(names)
    assert frame_of.where(users(frame_of.where("user_ref = '7'")).condition("user_ref")).count() == 1
    assert frame_of.where(users(frame_of.limit(0)).condition("user_ref")).count() == 0


def test_two_users_of_one_account_have_a_row_each(spark: SparkSession, layout: Layout) -> None:
    take(spark, layout, [bought("anna", account="joint")], offset=0)
    other = bought("anna", account="joint", revision=5)
    of_bob = Outgoing(
        topic=other.topic,
        key=other.key,
        value=other.value,
        headers=tuple((name, b"bob" if name == "user" else value) for name, value in other.headers),
    )

    take(spark, layout, [of_bob], offset=1000)
    take(spark, layout, [of_bob, bought("anna", account="joint")], offset=2000)

    rows = spark.read.format("delta").load(layout.path("classified")).collect()
    assert sorted((row.user_ref, row.revision, row.transfer_of) for row in rows) == [
        ("anna", 1, None),
        ("bob", 5, None),
    ]
