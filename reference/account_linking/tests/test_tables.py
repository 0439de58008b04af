"""Classes, their sources, quarantine and late records: on real Delta tables, which two batches of all cases fill."""

from __future__ import annotations

import json
import shutil
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from account_linking.demo.fetch_harness import kafka_frame
from account_linking.demo.sample_records import PURCHASE, raw_record
from account_linking.tables import batch_size, maps
from account_linking.tables import layout as layout_module
from account_linking.tables.classify import NAMESPACE, uuid5
from account_linking.tables.first_commit import delta_log, write_first_commit
from account_linking.tables.ingest import Ingestion
from account_linking.tables.layout import TABLES, Layout
from account_linking.tables.versions import Versions

if TYPE_CHECKING:
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
    changes: dict[str, Any] | str,
    *,
    user: str = "anna",
    revision: object = 1,
    op: str = "UPSERT",
    entity: str = "transactions",
) -> Outgoing:
    value = changes if isinstance(changes, str) or entity == "accounts" else {**GOOD, **changes}
    return raw_record(value, entity=entity, key="plaid|checking", op=op, revision=str(revision), user=user)


def account(name: str, kind: str, subtype: str, *, user: str = "anna") -> Outgoing:
    return raw({"account_id": name, "type": kind, "subtype": subtype, "name": name}, entity="accounts", user=user)


BAD = {
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
"""Values of transactions, each with a rule that it breaks."""

TRANSFER = {"personal_finance_category": {"primary": "TRANSFER_OUT", "detailed": "TRANSFER_OUT_ACCOUNT_TRANSFER"}}
UNKNOWN = {"personal_finance_category": {"primary": "NEW", "detailed": "NEW_ELSE"}}
OF_ANNA = [
    account("checking", "depository", "checking"),
    account("piggy", "depository", "savings"),
    account("card", "credit", "credit card"),
    raw({"transaction_id": "gym", "name": "City GYM"}),
    raw({"transaction_id": "p", "pending": True}),
    raw({"transaction_id": "plain"}),
    raw({"transaction_id": "back", "amount": -7}),
    raw({"transaction_id": "words", "name": "ACME Payroll", "amount": -900, **UNKNOWN}),
    raw({"transaction_id": "odd", "name": "ZZ*1", **UNKNOWN}),
    raw({"transaction_id": "out", "amount": 300, **TRANSFER}),
    raw({"transaction_id": "in", "amount": -300, "account_id": "piggy", "date": "2026-06-04", **TRANSFER}),
    raw({"transaction_id": "late", "amount": -300, "account_id": "piggy", "date": "2026-06-05", **TRANSFER}),
    raw({"transaction_id": "pay", "amount": 80, **TRANSFER}),
    raw({"transaction_id": "paid", "amount": -80, "account_id": "card", **TRANSFER}),
    raw({"transaction_id": "bought", "amount": 50}),
    raw({"transaction_id": "got", "amount": -50, "account_id": "piggy", **TRANSFER}),
]
PENDING = {"transaction_id": "p", "account_id": "of olga"}
OF_SAM = {"transaction_id": "out", "account_id": "of sam", "amount": 50}
BATCHES = (
    [
        *OF_ANNA,
        raw({"transaction_id": "fine", "account_id": "of bob"}, user="bob"),
        *(raw(value, user="bob") for value in BAD),
        raw({}, user="bob", revision="x"),
        raw({}, user="bob", op="EXPLODE"),
        raw({**PENDING, "pending": True}, user="olga"),
        raw({"transaction_id": "t", "account_id": "of leo"}, user="leo", revision=9, op="DELETE"),
        raw({"transaction_id": "t", "account_id": "of eve", "brand_new": {"a": 1}, "also": None}, user="eve"),
        account("of sam", "depository", "checking", user="sam"),
        account("saver", "depository", "savings", user="sam"),
        raw(OF_SAM, user="sam"),
        raw({"transaction_id": "in", "account_id": "saver", "amount": -50}, user="sam"),
    ],
    [
        raw({**PENDING, "transaction_id": "q", "pending_transaction_id": "p", "amount": 14}, user="olga", revision=2),
        raw(PENDING, user="olga", revision=3, op="DELETE"),
        raw({"transaction_id": "t", "account_id": "of leo"}, user="leo", revision=8),
        raw({**OF_SAM, "name": "Other"}, user="sam", revision=2),
        raw("{not json", user="sam"),
        raw({**OF_SAM, "transaction_id": "gone"}, user="sam", op="DELETE"),
    ],
)
"""What all tests ingest at once: Anna's records are of the test of classes, Bob's of the quarantine, and so on."""


@pytest.fixture(scope="module")
def with_user_classes(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, empty_tables: Layout) -> Layout:
    """Tables that are empty but for what users said of their classes."""
    tables = copied(empty_tables, tmp_path_factory.mktemp("said") / "tables")
    spark.sql(f"insert into {tables.sql('rules')} values ('anna', 'gym', 'investment'), ('bob', 'thing', 'tax')")
    spark.sql(
        f"insert into {tables.sql('overrides')} values"
        " ('anna', 'p', 'savings'), ('anna', 'gym', 'tax'), ('olga', 'p', 'savings')"
    )
    return tables


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, with_user_classes: Layout) -> Layout:
    """The tables after both batches. No test writes to them."""
    return ingested(spark, copied(with_user_classes, tmp_path_factory.mktemp("small") / "tables"))


def copied(tables: Layout, folder: Path) -> Layout:
    shutil.copytree(tables.root, folder)
    return Layout(str(folder))


def ingested(spark: SparkSession, layout: Layout) -> Layout:
    ingestion = Ingestion(layout)
    for number, records in enumerate(BATCHES):
        ingestion.ingest(kafka_frame(spark, list(enumerate(records, 1000 * number))), batch=number)
    return layout


def rows_of(spark: SparkSession, layout: Layout, table: str, *, user: str) -> dict[str, Row]:
    """A user's rows, by transaction."""
    rows = spark.read.format("delta").load(layout.path(table)).where(f"user_ref = '{user}'").collect()
    return {row.provider_transaction_id: row for row in rows}


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
    spark: SparkSession, tmp_path: Path, tables: Layout, with_user_classes: Layout
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(batch_size, "MAX_SMALL_ROWS", 0)
        of_large_batches = ingested(spark, copied(with_user_classes, tmp_path / "large"))

    small, large = (all_rows(spark, layout) for layout in (tables, of_large_batches))

    assert small == large
    assert [len(small[table]) for table in ("bronze", "silver", "accounts", "quarantine")] == [56, 21, 5, 27]


def all_rows(spark: SparkSession, layout: Layout) -> dict[str, list[str]]:
    """The rows of all tables, sorted."""
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


def test_a_row_that_breaks_a_rule_is_quarantined_and_delays_no_other(spark: SparkSession, tables: Layout) -> None:
    rows = spark.read.format("delta").load(tables.path("quarantine")).where("user_ref = 'bob'").collect()

    broken_rules = {row.value: {error.rule for error in row.errors} for row in rows}
    assert {value for value, rule in BAD.items() if rule not in broken_rules.get(value, set())} == set()
    assert {"has_revision", "has_known_op"} <= {error.rule for row in rows for error in row.errors}
    assert list(rows_of(spark, tables, "silver", user="bob")) == ["fine"]


def test_the_first_source_with_a_class_wins(spark: SparkSession, tables: Layout) -> None:
    rows = rows_of(spark, tables, "classified", user="anna")

    found = {name: (row["class"], row.class_source) for name, row in rows.items()}
    assert found == {
        "gym": ("investment", "user_rule"),
        "p": ("savings", "override"),
        "plain": ("spending", "provider"),
        "back": ("refund", "provider"),
        "words": ("income", "words"),
        "odd": ("uncategorized", "none"),
        "out": ("savings", "transfer"),
        "in": ("savings", "transfer"),
        "late": ("transfer_external", "provider"),
        "pay": ("transfer_internal", "transfer"),
        "paid": ("transfer_internal", "transfer"),
        "bought": ("spending", "provider"),
        "got": ("transfer_external", "provider"),
    }


def test_an_override_survives_when_a_pending_transaction_posts_under_another_id(
    spark: SparkSession, tables: Layout
) -> None:
    found = rows_of(spark, tables, "classified", user="olga")

    assert (found["q"]["class"], found["q"].class_source) == ("savings", "override")
    assert (found["p"].is_deleted, found["p"].amount) == (True, None)


def test_a_late_record_does_not_restore_a_deleted_transaction(spark: SparkSession, tables: Layout) -> None:
    months = spark.read.format("delta").load(tables.path("monthly")).where("user_ref = 'leo'")

    assert rows_of(spark, tables, "silver", user="leo")["t"].is_deleted
    assert months.count() == 0


def test_fields_that_the_schema_does_not_know_are_kept(spark: SparkSession, tables: Layout) -> None:
    assert rows_of(spark, tables, "silver", user="eve")["t"]._extra == {"brand_new": '{"a":1}'}


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
