"""Writes raw records into all tables: for a batch of the stream, and for the topics' whole history."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from account_linking.tables import bronze, classify
from account_linking.tables.batch_size import batch_size, in_one_partition, is_small, one_task_a_stage
from account_linking.tables.batch_users import every_user, find_batch_users, read_contents, users_and_accounts
from account_linking.tables.forget import without_forgotten
from account_linking.tables.layout import ACCOUNTS, BRONZE, KEY, QUARANTINE, SILVER
from account_linking.tables.merge import NEWER, NEWER_ACCOUNT, latest, merge, retry_conflicts
from account_linking.tables.translate import (
    RULE_VERSION,
    latest_accounts,
    records_with_errors,
    translate,
    translate_accounts,
)
from account_linking.tables.versions import Versions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from account_linking.tables.batch_users import BatchUsers
    from account_linking.tables.layout import Layout

SOURCE_POSITION = ("source_topic", "source_partition", "source_offset")


@dataclass(slots=True)
class Ingestion:
    """Writes raw records into the tables. Every step is idempotent.

    Bronze: an append carries the batch's number, and records up to the offsets that bronze had at the start are
    skipped, so that not even a lost checkpoint creates duplicates. All other tables are merged by key and revision.
    """

    layout: Layout
    _last_offsets: Mapping[tuple[str, int], int] | None = field(default=None)
    _versions: Versions = field(init=False)

    def __post_init__(self) -> None:
        self._versions = Versions(self.layout)

    def ingest(self, records: DataFrame, *, batch: int = 0) -> None:
        """Ingest Kafka records: a batch of the stream, or the whole history."""
        spark = records.sparkSession
        rows = bronze.to_bronze(records)
        if not self._versions.is_empty(spark, "forgotten"):
            rows = without_forgotten(rows, self.layout)
        rows.persist()
        try:
            size = batch_size(rows)
            if size[0]:
                small = is_small(size)
                with one_task_a_stage(spark, small=small):
                    self._ingest(in_one_partition(rows, small=small), batch, small=small)
        finally:
            rows.unpersist()

    def _ingest(self, rows: DataFrame, batch: int, *, small: bool) -> None:
        query_id = _query_id(rows.sparkSession)
        self._append(rows, txn=(query_id, batch) if query_id else None)
        self.update_tables(rows, small=small)

    def _append(self, rows: DataFrame, txn: tuple[str, int] | None) -> None:
        spark = rows.sparkSession
        if self._last_offsets is None:
            self._last_offsets = bronze.last_offsets(spark, self.layout)
        new = rows.where(bronze.is_new(self._last_offsets))
        retry_conflicts(lambda: bronze.append(new, self.layout, table="bronze", txn=txn))

    def update_tables(self, rows: DataFrame, *, small: bool = False) -> None:
        """Update all tables after bronze from these bronze rows; those of a `small` batch are in one partition."""
        frames = [in_one_partition(frame, small=small) for frame in (translate(rows), translate_accounts(rows))]
        translated, accounts = (frame.localCheckpoint() if small else frame.persist() for frame in frames)
        try:
            users = self._merge(rows, translated, accounts, small=small)
        finally:
            translated.unpersist()
            accounts.unpersist()
        classify.refresh(rows.sparkSession, self._versions, users, small=small)

    def _merge(self, rows: DataFrame, translated: DataFrame, accounts: DataFrame, *, small: bool) -> BatchUsers:
        """Merge good transactions and accounts, and what breaks a rule; return the users whose classes may change."""
        good = translated.where("size(errors) = 0").select(*SILVER)
        good_accounts = accounts.where("size(errors) = 0").select(*ACCOUNTS)
        bad = quarantine_rows(rows, translated, accounts)
        contents = read_contents(users_and_accounts(rows, good, good_accounts), bad)
        if contents.has_errors:  # rare, and an empty merge costs as much as a full one
            bad = in_one_partition(bad, small=small).localCheckpoint() if small else bad
            merge(bad, self.layout, table="quarantine", key=SOURCE_POSITION, update_when="false")
        users = find_batch_users(contents, good, self.layout)
        merge(latest(good, KEY), self.layout, table="silver", key=KEY, update_when=NEWER, users=users)
        if contents.has_accounts:
            newest = latest_accounts(good_accounts)
            merge(newest, self.layout, table="accounts", key=KEY[:2], update_when=NEWER_ACCOUNT, users=users)
        return users


def quarantine_rows(rows: DataFrame, translated: DataFrame, accounts: DataFrame) -> DataFrame:
    """Return the records that break a rule, as rows of `quarantine`: of bronze rows and their translations."""
    bad = records_with_errors(rows, translated, accounts).selectExpr("*", f"{RULE_VERSION} as rule_version")
    return bad.selectExpr("*", "cast(null as timestamp) as replayed_at").select(*QUARANTINE)


def _query_id(spark: SparkSession) -> str | None:
    """Return the id of the stream whose batch this is; None on Spark Connect, where the offsets alone decide."""
    context = getattr(spark, "sparkContext", None)
    return context.getLocalProperty("sql.streaming.queryId") if context is not None else None


def history(
    spark: SparkSession, bootstrap: str, layout: Layout, *, security: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Ingest the topics' whole history as one batch: the same tables, without a stream."""
    layout.create(spark)
    Ingestion(layout).ingest(spark.read.format("kafka").options(**bronze.options(bootstrap, security)).load())


def replay(spark: SparkSession, layout: Layout) -> int:
    """Apply the current rules to quarantined records again; return how many moved to their tables.

    A record that still breaks a rule gets the current reasons.
    """
    waiting = spark.read.format("delta").load(layout.path("quarantine")).where("replayed_at is null")
    rows = waiting.select(*BRONZE).localCheckpoint()
    bad = quarantine_rows(rows, translate(rows), translate_accounts(rows)).localCheckpoint()
    good = rows.join(bad, [*SOURCE_POSITION], "left_anti").localCheckpoint()
    count = good.count()
    if count:
        Ingestion(layout).update_tables(good)
    replayed = waiting.join(good.select(*SOURCE_POSITION), [*SOURCE_POSITION], "left_semi").drop("replayed_at")
    moved = replayed.selectExpr("*", "current_timestamp() as replayed_at").select(*QUARANTINE)
    merge(
        moved.unionByName(bad).localCheckpoint(),
        layout,
        table="quarantine",
        key=SOURCE_POSITION,
        update_when="s.replayed_at is not null or t.errors <> s.errors or t.rule_version <> s.rule_version",
    )
    return count


def reclassify(spark: SparkSession, layout: Layout) -> None:
    """Classify all transactions again by the current CSV maps, user rules and overrides."""
    versions = Versions(layout)
    for users in every_user(spark, layout):
        classify.refresh(spark, versions, users)
