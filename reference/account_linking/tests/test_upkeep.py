"""What a batch reads and writes as the history grows, and that upkeep changes no row."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from account_linking.demo.rumour import frame
from account_linking.names import raw_topic
from account_linking.requester.worker import Outgoing
from account_linking.tables.flow import Flow
from account_linking.tables.layout import CLUSTERED, KEY
from account_linking.tables.merge import merge
from account_linking.tables.upkeep import upkeep
from account_linking.tables.users import RANGES, users

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from account_linking.tables.layout import Layout


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


def grow(spark: SparkSession, layout: Layout, *, people: range, files: int) -> None:
    """Append three transactions of each to silver, lying as OPTIMIZE puts them."""
    rows = spark.range(people.start * 3, people.stop * 3).selectExpr(
        "'plaid' as provider",
        "format_string('account-%05d', id div 3) as provider_account_id",
        "cast(id as string) as provider_transaction_id",
        "format_string('user-%05d', id div 3) as user_ref",
        "cast(1 as bigint) as revision",
    )
    lying = rows.repartitionByRange(files, "provider_account_id")
    lying.write.format("delta").mode("append").save(layout.path("silver"))


def take(spark: SparkSession, layout: Layout, records: Sequence[Outgoing], *, offset: int) -> None:
    Flow(layout).take(frame(spark, list(enumerate(records, offset))))


def merged(spark: SparkSession, layout: Layout, user: str, *, revision: int) -> dict[str, int]:
    """Change a user's transactions; return the files that there are, may be read, and were rewritten."""
    silver = spark.read.format("delta").load(layout.path("silver"))
    mine = silver.where(f"user_ref = '{user}'")
    whose = users(mine, mine, layout)
    found = silver.alias("t").where(whose.condition("silver", "t"))
    files, read = len(silver.inputFiles()), len(found.inputFiles())
    rows = (
        whose.read(layout, "silver", spark).drop("revision").selectExpr("*", f"cast({revision} as bigint) as revision")
    )
    newer = "s.revision > t.revision"
    merge(rows.localCheckpoint(), layout, table="silver", key=KEY, changed=newer, users=whose)
    done = spark.sql(f"describe history {layout.sql('silver')} limit 1").collect()[0].operationMetrics
    return {
        "files": files,
        "read": read,
        **{name: int(done[f"numTarget{name}"]) for name in ("FilesRemoved", "RowsUpdated", "RowsCopied")},
    }


def test_a_batch_reads_and_rewrites_no_more_of_ten_times_the_history(spark: SparkSession, layout: Layout) -> None:
    grow(spark, layout, people=range(40), files=2)
    small = merged(spark, layout, "user-00030", revision=2)
    grow(spark, layout, people=range(40, 400), files=18)

    large = merged(spark, layout, "user-00030", revision=3)

    assert large["files"] >= 10 * small["files"]
    assert (small["RowsUpdated"], large["RowsUpdated"]) == (3, 3)
    assert large["FilesRemoved"] <= large["read"] <= 2
    assert large["RowsCopied"] <= small["RowsCopied"]


def test_upkeep_changes_no_row_and_leaves_one_file_of_many(spark: SparkSession, layout: Layout) -> None:
    grow(spark, layout, people=range(3), files=3)
    before = sorted(spark.read.format("delta").load(layout.path("silver")).collect(), key=str)

    upkeep(spark, layout, tables=["silver"])

    detail = spark.sql(f"describe detail {layout.sql('silver')}").collect()[0]
    assert sorted(spark.read.format("delta").load(layout.path("silver")).collect(), key=str) == before
    assert (list(detail.clusteringColumns), detail.numFiles) == ([CLUSTERED["silver"]], 1)


def test_a_condition_holds_for_every_user_and_account_whatever_the_name(spark: SparkSession, layout: Layout) -> None:
    odd = ["", "o'brien", 'a"b', "back\\slash", "${spark.app.name}", "Ünï☂", "🦆", "a\nb", "--"]
    names = [*odd, *map(str, range(500))]
    rows = spark.createDataFrame(
        [(name, f"of {name}") for name in names], "user_ref string, provider_account_id string"
    )
    seven, nobody = rows.where("user_ref = '7'"), rows.limit(0)

    everyone, one, none = (users(each, each, layout) for each in (rows, seven, nobody))

    conditions = [each.condition(table, "t") for each in (everyone, one, none) for table in ("accounts", "silver")]
    assert max(len(ranges) for ranges in (everyone.ranges or {}).values()) <= RANGES
    assert [rows.alias("t").where(each).count() for each in conditions] == [509, 509, 1, 1, 0, 0]


def of(user: str, record: Outgoing) -> Outgoing:
    """Return the record as another user's worker fetched it."""
    headers = tuple((name, user.encode() if name == "user" else value) for name, value in record.headers)
    return Outgoing(topic=record.topic, key=record.key, value=record.value, headers=headers)


def test_the_later_fetch_of_a_joint_account_takes_its_rows_over(spark: SparkSession, layout: Layout) -> None:
    first, later = bought("anna", account="joint"), bought("anna", account="joint", revision=5)
    take(spark, layout, [first, bought("anna", 1, account="her own")], offset=0)

    take(spark, layout, [of("bob", later)], offset=1000)
    take(spark, layout, [first], offset=2000)

    silver, classified = (spark.read.format("delta").load(layout.path(table)) for table in ("silver", "classified"))
    expected = [("her own", "anna", 1), ("joint", "bob", 5)]
    for table in (silver, classified):
        assert sorted((row.provider_account_id, row.user_ref, row.revision) for row in table.collect()) == expected


def test_tables_that_had_no_holders_get_them_from_silver(spark: SparkSession, layout: Layout) -> None:
    take(spark, layout, [bought("anna")], offset=0)
    shutil.rmtree(layout.path("holders"))

    layout.create(spark)

    rows = spark.read.format("delta").load(layout.path("holders")).collect()
    assert [tuple(row) for row in rows] == [("anna", "account-of-anna")]


def test_a_batch_of_more_accounts_than_it_may_name_reads_all_and_keeps_its_holders(
    spark: SparkSession, layout: Layout
) -> None:
    rows = spark.createDataFrame([("anna", "a"), ("bob", "b")], ["user_ref", "provider_account_id"])
    users(rows.where("user_ref = 'anna'"), rows.where("user_ref = 'anna'"), layout)
    monkeypatch = pytest.MonkeyPatch()
    with monkeypatch.context() as patched:
        patched.setattr("account_linking.tables.users.MOST", 1)
        found = users(rows, rows, layout)

    held = spark.read.format("delta").load(layout.path("holders")).collect()
    assert sorted(tuple(row) for row in held) == [("anna", "a"), ("bob", "b")]
    assert found.condition("silver", "t") == "true"
    assert found.among is not None
    assert sorted(row.user_ref for row in found.among.collect()) == ["anna", "bob"]
