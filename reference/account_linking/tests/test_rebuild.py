"""Tables are computed again from bronze with the same result; a row that moves to another user takes its months."""

from __future__ import annotations

import shutil
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from account_linking.demo.sample_records import bought, ingest_records, raw_record, with_user
from account_linking.providers import every_provider
from account_linking.tables import classify, rebuild, streams, translate
from account_linking.tables.layout import Layout
from account_linking.tables.merge import latest_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from account_linking.requester.worker import Outgoing

pytestmark = pytest.mark.timeout(900)  # some tests ingest eight batches
COMPARED = ("bronze", "silver", "accounts", "quarantine", "classified", "monthly", "holders")


def account(name: str, *, subtype: str = "checking", revision: int = 1) -> Outgoing:
    value = {"account_id": name, "type": "depository", "subtype": subtype, "name": "A"}
    return raw_record(value, entity="accounts", key=f"plaid|{name}", revision=str(revision))


BROKEN = replace(bought("anna", 9), value=b"{no json")
RECORDS = [
    account("account-of-anna"),
    *(bought("anna", number) for number in range(4)),
    bought("bob", 0),
    bought("anna", 1, revision=7),
    BROKEN,
    bought("anna", 1, revision=3),
]


def rows(spark: SparkSession, layout: Layout, *tables: str) -> dict[str, list[str]]:
    """All rows of tables, sorted, without the time of a replay and without rows that left the quarantine."""
    found = {}
    for table in tables or COMPARED:
        frame = spark.read.format("delta").load(layout.path(table))
        frame = frame.where("replayed_at is null") if table == "quarantine" else frame
        frame = frame.distinct() if table == "holders" else frame  # its readers ignore duplicates
        found[table] = sorted(str(row.asDict()) for row in frame.collect())
    return found


def copied(tables: Layout, to: Path) -> Layout:
    shutil.copytree(tables.root, to)
    return Layout(str(to))


def months(spark: SparkSession, layout: Layout) -> dict[str, int]:
    """The number of transactions in `monthly`, by user."""
    found = spark.read.format("delta").load(layout.path("monthly")).groupBy("user_ref").sum("transactions").collect()
    return {row.user_ref: row[1] for row in found}


@pytest.fixture
def patched() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch().context() as monkeypatch:
        yield monkeypatch


@pytest.fixture
def other(tmp_path: Path, empty_tables: Layout) -> Layout:
    """Other empty tables."""
    return copied(empty_tables, tmp_path / "other")


def correct_translation(patched: pytest.MonkeyPatch, **columns: str) -> None:
    """Correct Plaid's translation, as the next schema version."""
    providers = every_provider()
    plaid = providers["plaid"]
    translation = replace(plaid.translation, columns={**plaid.translation.columns, **columns})
    corrected = {**providers, "plaid": replace(plaid, translation=translation)}
    patched.setattr(translate, "every_provider", lambda: corrected)
    version = str(translate.SCHEMA_VERSION + 1)
    patched.setattr(translate, "LINEAGE_COLUMNS", {**translate.LINEAGE_COLUMNS, "schema_version": version})


@pytest.fixture(scope="module")
def corrected(spark: SparkSession, empty_tables: Layout, tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """The tables after two batches, the second by a corrected translation. Its records are of three tests."""
    layout = copied(empty_tables, tmp_path_factory.mktemp("corrected") / "tables")
    joint = bought("anna", account="joint")
    first = [joint, bought("anna", 1, account="her own"), bought("eve", account="only"), bought("carla")]
    moving = [bought("anna", account="joint", revision=5), bought("eve", account="only", revision=5)]
    second = [*(with_user("bob", record) for record in moving), bought("carla")]
    loan = replace(account("pool", revision=2), value=b'{"account_id": "pool", "type": "investment", "name": "A"}')

    ingest_records(spark, layout, [*first, account("pool"), with_user("dan", bought("dan", account="pool"))])
    with pytest.MonkeyPatch.context() as patched:
        correct_translation(patched, description_clean="'corrected'")
        ingest_records(spark, layout, [*second, loan], offset=1000)
    return layout


def test_a_transaction_that_moves_to_another_user_takes_its_months_with_it(
    spark: SparkSession, corrected: Layout
) -> None:
    assert months(spark, corrected) == {"anna": 1, "bob": 2, "carla": 1, "dan": 1}


def test_a_corrected_translation_reaches_silver_when_a_record_comes_again(
    spark: SparkSession, corrected: Layout
) -> None:
    rows = spark.read.format("delta").load(corrected.path("silver")).where("user_ref = 'carla'").collect()

    assert [(row.description_clean, row.schema_version, row.revision) for row in rows] == [
        ("corrected", translate.SCHEMA_VERSION + 1, 1)
    ]


def test_an_account_record_of_one_user_reclassifies_the_transactions_of_another(
    spark: SparkSession, corrected: Layout
) -> None:
    rows = spark.read.format("delta").load(corrected.path("classified")).where("provider_account_id = 'pool'").collect()

    assert [(row.user_ref, row["class"]) for row in rows] == [("dan", "investment")]


@pytest.mark.long  # several batches
def test_a_batch_that_was_killed_after_a_row_had_moved_still_moves_its_months(
    spark: SparkSession, layout: Layout, patched: pytest.MonkeyPatch
) -> None:
    ingest_records(spark, layout, [bought("anna", account="joint")])
    moving = [with_user("bob", bought("anna", account="joint", revision=5))]
    with patched.context() as dying:
        dying.setattr(classify, "_monthly", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            ingest_records(spark, layout, moving, offset=1000)

    ingest_records(spark, layout, moving, offset=1000)

    assert months(spark, layout) == {"bob": 1}


@pytest.mark.long  # several batches
def test_two_items_that_publish_a_transaction_under_one_revision_give_one_result_in_any_order(
    spark: SparkSession, empty_tables: Layout, tmp_path: Path
) -> None:
    first = with_user("anna", bought("x", account="joint"))
    second = replace(
        with_user("bob", bought("x", account="joint")),
        headers=(("item", b"j"), ("user", b"bob"), ("op", b"UPSERT"), ("revision", b"1")),
    )
    found = []
    for name, order in (("one", (first, second)), ("other", (second, first))):
        layout = copied(empty_tables, tmp_path / name)
        for number, record in enumerate(order):
            ingest_records(spark, layout, [record], offset=number)
        found += [row.user_ref for row in spark.read.format("delta").load(layout.path("silver")).collect()]

    assert found == ["bob", "bob"]


@pytest.mark.long  # several batches
def test_a_rebuild_changes_nothing_where_nothing_was_corrected(spark: SparkSession, layout: Layout) -> None:
    ingest_records(spark, layout, RECORDS)
    before, version = rows(spark, layout), latest_version(spark, layout, "classified")

    rebuilt = rebuild.rebuild(spark, layout)

    feed = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", version + 1)
    assert rebuilt == rebuild.Rebuilt(silver=0, accounts=0, quarantine=0)
    assert rows(spark, layout) == before
    assert latest_version(spark, layout, "classified") == version or feed.load(layout.path("classified")).count() == 0


@pytest.mark.long  # several batches
def test_a_corrected_translation_reaches_all_tables_and_no_earlier_one_comes_back(
    spark: SparkSession, layout: Layout, patched: pytest.MonkeyPatch
) -> None:
    ingest_records(spark, layout, RECORDS)
    with patched.context() as corrected:
        correct_translation(corrected, description_clean="'corrected'", logical_transaction_id="'root'")
        rebuild.rebuild(spark, layout)

    ingest_records(spark, layout, RECORDS)

    silver, classified = (spark.read.format("delta").load(layout.path(name)) for name in ("silver", "classified"))
    assert {row.description_clean for row in silver.collect()} == {"corrected"}
    assert {row.description_clean for row in classified.collect()} == {"corrected"}


@pytest.mark.long  # several minutes
def test_a_rebuild_with_other_rules_gives_what_the_history_gives_in_empty_tables(
    spark: SparkSession, layout: Layout, other: Layout, patched: pytest.MonkeyPatch
) -> None:
    ingest_records(spark, layout, RECORDS)
    before = rows(spark, layout)
    strict = translate.RowRule("is_early", "revision", "revision < 5 and provider_transaction_id <> 'bob-0'")

    with patched.context() as stricter:
        stricter.setattr(translate, "ROW_RULES", (*translate.ROW_RULES, strict))
        rebuilt = rebuild.rebuild(spark, layout)
        ingest_records(spark, other, RECORDS)
        rebuilt_rows, expected = rows(spark, layout), rows(spark, other)
    back = rebuild.rebuild(spark, layout)

    feed = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 0)
    published = streams.events(feed.load(layout.path("classified")).where("_change_type = 'delete'")).collect()
    assert (rebuilt.silver, back.silver) == (2, 2)
    assert {**rebuilt_rows, "holders": []} == {**expected, "holders": []}
    assert rows(spark, layout) == before
    assert [(row.key, dict(row.headers)["op"]) for row in published] == [("plaid|account-of-bob|bob-0", b"DELETE")]


@pytest.mark.long  # a rebuild of everything
def test_a_rebuild_from_bronze_alone_gives_identical_tables(
    spark: SparkSession, layout: Layout, tmp_path: Path
) -> None:
    for number in range(0, len(RECORDS), 3):
        ingest_records(spark, layout, RECORDS[number : number + 3], offset=number)
    alone = Layout(str(tmp_path / "alone"))
    shutil.copytree(layout.path("bronze"), alone.path("bronze"))

    rebuild.rebuild(spark, alone)

    assert rows(spark, alone) == rows(spark, layout)


@pytest.mark.long  # several minutes
def test_a_rebuild_beside_a_running_stream_gives_the_same_tables(
    spark: SparkSession, layout: Layout, other: Layout
) -> None:
    batches = [
        [
            bought("anna", number),
            with_user("bob" if number % 2 else "anna", bought("x", account="joint", revision=number)),
        ]
        for number in range(1, 6)
    ]
    streamed: list[BaseException] = []
    stream = threading.Thread(target=run_batches, args=(spark.newSession(), layout, batches, streamed))
    stream.start()
    while stream.is_alive():
        rebuild.rebuild(spark.newSession(), layout)
    stream.join()

    ingest_records(spark, other, [record for batch in batches for record in batch])
    assert streamed == []
    assert rows(spark, layout) == rows(spark, other)


def run_batches(
    spark: SparkSession, layout: Layout, batches: Sequence[Sequence[Outgoing]], errors: list[BaseException]
) -> None:
    try:
        for number, batch in enumerate(batches):
            ingest_records(spark, layout, batch, offset=2 * number)
    except Exception as error:  # noqa: BLE001 - reported by the test
        errors.append(error)


def test_sequences_of_tables_that_are_created_anew_are_higher(
    spark: SparkSession, corrected: Layout, tmp_path: Path
) -> None:
    layout = copied(corrected, tmp_path / "tables")
    last = streams.first_sequence(spark, layout) + latest_version(spark, layout, "classified")
    shutil.rmtree(layout.root)

    layout.create(spark)

    assert streams.first_sequence(spark, layout) > last
