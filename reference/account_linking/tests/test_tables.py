"""Classes, their sources, quarantine and late records: on real Delta tables."""

from __future__ import annotations

import json
import shutil
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from account_linking.demo.fetch_harness import kafka_frame
from account_linking.demo.sample_records import PURCHASE, raw_record
from account_linking.tables import batch_size, ingest, maps, translate
from account_linking.tables import layout as layout_module
from account_linking.tables.classify import NAMESPACE, uuid5
from account_linking.tables.first_commit import delta_log, write_first_commit
from account_linking.tables.ingest import Ingestion
from account_linking.tables.layout import TABLES, Layout
from account_linking.tables.versions import Versions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import Row, SparkSession

    from account_linking.requester.worker import Outgoing

GOOD = {
    **PURCHASE,
    "account_id": "checking",
    "unofficial_currency_code": None,
    "personal_finance_category": {
        "primary": "GENERAL_MERCHANDISE",
        "detailed": "GENERAL_MERCHANDISE_OTHER",
        "version": "v2",
    },
}


def raw(
    changes: dict[str, Any] | str, *, revision: object = 1, op: str = "UPSERT", entity: str = "transactions"
) -> Outgoing:
    value = changes if isinstance(changes, str) or entity == "accounts" else {**GOOD, **changes}
    return raw_record(value, entity=entity, key="plaid|checking", op=op, revision=str(revision))


def account(name: str, kind: str, subtype: str) -> Outgoing:
    return raw({"account_id": name, "type": kind, "subtype": subtype, "name": name}, entity="accounts")


@pytest.fixture
def ingest_records(spark: SparkSession, layout: Layout) -> Callable[..., None]:
    """Ingest raw records, each batch at its own offsets."""
    began = iter(range(0, 1_000_000, 1000))

    def run(*records: Outgoing) -> None:
        Ingestion(layout).ingest(kafka_frame(spark, list(enumerate(records, next(began)))))

    return run


@pytest.fixture
def table(spark: SparkSession, layout: Layout) -> Callable[[str], dict[str, Row]]:
    def run(name: str) -> dict[str, Row]:
        rows = spark.read.format("delta").load(layout.path(name)).collect()
        return {row.provider_transaction_id: row for row in rows}

    return run


@pytest.fixture
def classes(table: Callable[[str], dict[str, Row]]) -> Callable[[], list[str]]:
    return lambda: [row["class"] for row in table("classified").values()]


COMMIT = "00000000000000000000.json"
LEFT_BEHIND = {
    "bronze": (f"_delta_log/.{COMMIT}.1.tmp",),
    "silver": ("_delta_log/",),
    "accounts": ("part-0.snappy.parquet", ".part-0.snappy.parquet.crc"),
    "quarantine": ("part-0.snappy.parquet", "_delta_log/"),
    "classified": (f"_delta_log/.{COMMIT}.1.tmp", f"_delta_log/..{COMMIT}.1.tmp.crc"),
    "monthly": ("_delta_log/_staged_commits/",),
}
"""Files and folders/ that a driver leaves that is killed while it creates a table, up to the commit's rename."""


def test_tables_are_created_where_a_driver_was_killed_before_the_first_commit(
    spark: SparkSession, tmp_path: Path
) -> None:
    for table, names in LEFT_BEHIND.items():
        for name in names:
            path = tmp_path / "tables" / table / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir(exist_ok=True) if name.endswith("/") else path.touch()
    layout = Layout(str(tmp_path / "tables"))

    layout.create(spark)
    layout.create(spark)

    kinds = {table: spark.read.format("delta").load(layout.path(table)).dtypes for table in TABLES}
    assert kinds == {table: list(columns.items()) for table, columns in TABLES.items()}


def test_tables_are_created_where_delta_has_no_log_within_reach(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layout_module, "delta_log", lambda *_: None)
    layout = Layout(str(tmp_path / "tables"))

    layout.create(spark)
    layout.create(spark)

    kinds = {table: spark.read.format("delta").load(layout.path(table)).dtypes for table in TABLES}
    assert kinds == {table: list(columns.items()) for table, columns in TABLES.items()}


def test_the_first_commit_is_not_written_twice(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    columns = {"name": "string"}

    for interval in ("7", "8"):
        write_first_commit(spark, delta_log(spark, path), columns, {"delta.checkpointInterval": interval})

    detail = spark.sql(f"describe detail delta.`{path}`").collect()[0]
    assert detail.properties == {"delta.checkpointInterval": "7"}


def test_a_small_batch_and_a_large_one_write_the_same_rows(
    spark: SparkSession, tmp_path: Path, empty_tables: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [
        account("checking", "depository", "checking"),
        account("saver", "depository", "savings"),
        raw({"transaction_id": "out", "amount": 50}),
        raw({"transaction_id": "in", "account_id": "saver", "amount": -50}),
        raw({"transaction_id": "out", "amount": 50, "name": "Other"}, revision=2),
        raw("{not json"),
        raw({"transaction_id": "gone"}, op="DELETE"),
    ]

    small = rows_after(spark, records, copied(empty_tables, tmp_path / "small"))
    monkeypatch.setattr(batch_size, "MAX_SMALL_ROWS", 0)
    large = rows_after(spark, records, copied(empty_tables, tmp_path / "large"))

    assert small == large
    assert [len(small[table]) for table in ("bronze", "silver", "accounts", "quarantine")] == [7, 3, 2, 1]


def copied(tables: Layout, folder: Path) -> Layout:
    shutil.copytree(tables.root, folder)
    return Layout(str(folder))


def rows_after(spark: SparkSession, records: list[Outgoing], layout: Layout) -> dict[str, list[str]]:
    """The rows of all tables after two batches: all records but the last three, then these."""
    ingestion = Ingestion(layout)
    numbered = list(enumerate(records))
    for number, part in enumerate((numbered[:-3], numbered[-3:])):
        ingestion.ingest(kafka_frame(spark, part), batch=number)
    return {
        table: sorted(str(row) for row in spark.read.format("delta").load(layout.path(table)).collect())
        for table in TABLES
    }


def test_a_table_is_known_as_empty_until_its_next_commit(spark: SparkSession, layout: Layout) -> None:
    versions = Versions(layout)
    before = versions.latest(spark, "rules"), versions.is_empty(spark, "rules"), versions.is_empty(spark, "rules")

    spark.sql(f"insert into {layout.sql('rules')} values ('anna', 'rent', 'spending')")

    assert before == (0, True, True)
    assert (versions.latest(spark, "rules"), versions.is_empty(spark, "rules")) == (1, False)


def test_the_settings_of_a_small_batch_end_with_it(spark: SparkSession) -> None:
    names = list(batch_size.LOCAL_SETTINGS)
    before = [spark.conf.get(name, None) for name in names]

    with batch_size.one_task_a_stage(spark, small=True):
        during = {name: spark.conf.get(name) for name in names}

    assert during == batch_size.LOCAL_SETTINGS
    assert [spark.conf.get(name, None) for name in names] == before


def test_a_row_that_breaks_a_rule_is_quarantined_and_delays_no_other(
    ingest_records: Callable[..., None], table: Callable[[str], dict[str, Row]], spark: SparkSession, layout: Layout
) -> None:
    bad = {
        "{not json": "is_json",
        json.dumps({**GOOD, "transaction_id": ""}): "has_id",
        json.dumps({**GOOD, "transaction_id": {"a": 1}}): "has_id",
        json.dumps({**GOOD, "transaction_id": 1e30}): "has_id",
        json.dumps({**GOOD, "transaction_id": True}): "has_id",
        json.dumps({**GOOD, "account_id": [1]}): "has_account",
        '{"transaction_id": "\\ud800"}': "is_json",
        json.dumps({**GOOD, "amount": None}): "has_amount",
        json.dumps({**GOOD, "amount": "twelve"}): "amount_is_number",
        json.dumps({**GOOD, "amount": 1e18}): "amount_fits",
        json.dumps({**GOOD, "amount": 0.12345}): "amount_in_minor_units",
        json.dumps({**GOOD, "iso_currency_code": None}): "has_one_currency",
        json.dumps({**GOOD, "unofficial_currency_code": "BTC"}): "has_one_currency",
        json.dumps({**GOOD, "iso_currency_code": "usd"}): "currency_is_iso",
        json.dumps({**GOOD, "iso_currency_code": "USD\n"}): "currency_is_iso",
        json.dumps({**GOOD, "iso_currency_code": ""}): "currency_is_iso",
        json.dumps({**GOOD, "iso_currency_code": None, "unofficial_currency_code": "POINTS"}): "currency_is_known",
        json.dumps({**GOOD, "pending": None}): "has_status",
        json.dumps(GOOD) + " {}": "is_json",
        json.dumps(GOOD) + json.dumps(GOOD): "is_json",
        json.dumps({**GOOD, "date": "2026-02-30"}): "is_date",
        json.dumps({**GOOD, "date": None}): "has_date",
        json.dumps([GOOD]): "has_id",
        "": "is_json",
    }

    ingest_records(
        raw({"transaction_id": "fine"}), *(raw(value) for value in bad), raw({}, revision="x"), raw({}, op="EXPLODE")
    )

    rows = spark.read.format("delta").load(layout.path("quarantine")).collect()
    broken_rules = {row.value: {error.rule for error in row.errors} for row in rows}
    assert {value for value, rule in bad.items() if rule not in broken_rules.get(value, set())} == set()
    assert {"has_revision", "has_known_op"} <= {error.rule for row in rows for error in row.errors}
    assert list(table("silver")) == ["fine"]


def test_a_row_leaves_the_quarantine_when_its_rule_is_fixed(
    ingest_records: Callable[..., None], classes: Callable[[], list[str]], spark: SparkSession, layout: Layout
) -> None:
    monkeypatch = pytest.MonkeyPatch()
    too_strict = translate.RowRule("is_cheap", "amount", "abs(amount) < 10")
    with monkeypatch.context() as patched:
        patched.setattr(translate, "RULES", (*translate.RULES, too_strict))
        ingest_records(raw({"transaction_id": "dear"}), raw("{never"))

    before, moved = classes(), ingest.replay(spark, layout)
    again = ingest.replay(spark, layout)

    waiting = spark.read.format("delta").load(layout.path("quarantine")).where("replayed_at is null").collect()
    assert (before, moved, again) == ([], 1, 0)
    assert classes() == ["spending"]
    assert [row.value for row in waiting] == ["{never"]


def test_the_first_source_with_a_class_wins(
    ingest_records: Callable[..., None], table: Callable[[str], dict[str, Row]], spark: SparkSession, layout: Layout
) -> None:
    spark.sql(f"insert into {layout.sql('rules')} values ('anna', 'gym', 'investment'), ('bob', 'thing', 'tax')")
    spark.sql(f"insert into {layout.sql('overrides')} values ('anna', 'p', 'savings'), ('anna', 'gym', 'tax')")
    transfer = {"personal_finance_category": {"primary": "TRANSFER_OUT", "detailed": "TRANSFER_OUT_ACCOUNT_TRANSFER"}}
    unknown = {"personal_finance_category": {"primary": "NEW", "detailed": "NEW_ELSE"}}

    ingest_records(
        account("checking", "depository", "checking"),
        account("piggy", "depository", "savings"),
        account("card", "credit", "credit card"),
        raw({"transaction_id": "gym", "name": "City GYM"}),
        raw({"transaction_id": "p", "pending": True}),
        raw({"transaction_id": "plain"}),
        raw({"transaction_id": "back", "amount": -7}),
        raw({"transaction_id": "words", "name": "ACME Payroll", "amount": -900, **unknown}),
        raw({"transaction_id": "odd", "name": "ZZ*1", **unknown}),
        raw({"transaction_id": "out", "amount": 300, **transfer}),
        raw({"transaction_id": "in", "amount": -300, "account_id": "piggy", "date": "2026-06-04", **transfer}),
        raw({"transaction_id": "late", "amount": -300, "account_id": "piggy", "date": "2026-06-05", **transfer}),
        raw({"transaction_id": "pay", "amount": 80, **transfer}),
        raw({"transaction_id": "paid", "amount": -80, "account_id": "card", **transfer}),
        raw({"transaction_id": "bought", "amount": 50}),
        raw({"transaction_id": "got", "amount": -50, "account_id": "piggy", **transfer}),
    )

    found = {name: (row["class"], row.class_source) for name, row in table("classified").items()}
    assert found == {
        "gym": ("investment", "user_rule"),
        "p": ("savings", "override"),
        "plain": ("spending", "provider"),
        "back": ("refund", "provider"),
        "words": ("income", "words"),
        "odd": ("uncategorized", "nobody"),
        "out": ("savings", "transfer"),
        "in": ("savings", "transfer"),
        "late": ("transfer_external", "provider"),
        "pay": ("transfer_internal", "transfer"),
        "paid": ("transfer_internal", "transfer"),
        "bought": ("spending", "provider"),
        "got": ("transfer_external", "provider"),
    }


@pytest.mark.long  # several batches
def test_an_override_survives_when_a_pending_transaction_posts_under_another_id(
    ingest_records: Callable[..., None], table: Callable[[str], dict[str, Row]], spark: SparkSession, layout: Layout
) -> None:
    spark.sql(f"insert into {layout.sql('overrides')} values ('anna', 'p', 'savings')")
    ingest_records(raw({"transaction_id": "p", "pending": True}))

    ingest_records(
        raw({"transaction_id": "q", "pending_transaction_id": "p", "amount": 14}, revision=2),
        raw({"transaction_id": "p"}, revision=3, op="DELETE"),
    )

    found = table("classified")
    assert (found["q"]["class"], found["q"].class_source) == ("savings", "override")
    assert (found["p"].is_deleted, found["p"].amount) == (True, None)


def test_a_late_record_does_not_restore_a_deleted_transaction(
    ingest_records: Callable[..., None], table: Callable[[str], dict[str, Row]], spark: SparkSession, layout: Layout
) -> None:
    ingest_records(raw({"transaction_id": "t"}, revision=9, op="DELETE"))

    ingest_records(raw({"transaction_id": "t"}, revision=8))

    assert table("silver")["t"].is_deleted
    assert spark.read.format("delta").load(layout.path("monthly")).count() == 0


def test_fields_that_the_schema_does_not_know_are_kept(
    ingest_records: Callable[..., None], table: Callable[[str], dict[str, Row]]
) -> None:
    ingest_records(raw({"transaction_id": "t", "brand_new": {"a": 1}, "also": None}))

    assert table("silver")["t"]._extra == {"brand_new": '{"a":1}'}


def test_an_event_id_is_a_uuid_of_version_5(spark: SparkSession) -> None:
    names = [f"plaid|äccount|{number}" for number in range(200)]

    found = spark.createDataFrame([(name,) for name in names], "name string").selectExpr(
        "name", f"{uuid5('name')} as id"
    )

    assert {row.name: row.id for row in found.collect()} == {
        name: str(uuid.uuid5(uuid.UUID(NAMESPACE), name)) for name in names
    }


def test_every_map_has_only_known_classes() -> None:
    assert maps.by_category()
    assert maps.by_mcc()
    assert maps.by_words()
    assert len(maps.version()) == 12
