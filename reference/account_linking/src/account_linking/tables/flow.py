"""The way of raw records through all tables, for a batch of a stream and for a whole history alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from account_linking.tables import bronze, classify
from account_linking.tables.layout import BRONZE, KEY, QUARANTINE, SILVER
from account_linking.tables.merge import merge
from account_linking.tables.translate import RULE_VERSION, accounts, newest, translate
from account_linking.tables.users import EVERYBODY, users

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from account_linking.tables.layout import Layout

PLACE = ("source_topic", "source_partition", "source_offset")


@dataclass(slots=True)
class Flow:
    """Takes raw records into the tables. Every step can be done again without harm.

    Bronze: a batch's number goes with its append, and what was there when the flow began is not taken again, so that
    not even a lost checkpoint doubles it. All else is merged by key and revision.
    """

    layout: Layout
    _held: DataFrame | None = field(default=None)

    def take(self, records: DataFrame, *, batch: int = 0) -> None:
        """Take Kafka records in: a batch of the stream, or all there are."""
        spark = records.sparkSession
        rows = bronze.bronze(records).persist()
        try:
            if not rows.isEmpty():
                who = spark.sparkContext.getLocalProperty("sql.streaming.queryId")
                self._append(rows, once=(who, batch) if who else None)
                self.settle(rows)
        finally:
            rows.unpersist()

    def _append(self, rows: DataFrame, once: tuple[str, int] | None) -> None:
        spark = rows.sparkSession
        if self._held is None:
            known = bronze.known(spark, self.layout).groupBy(*PLACE[:2]).agg({"source_offset": "max"})
            found = [tuple(row) for row in known.collect()]
            self._held = spark.createDataFrame(found, "source_topic string, source_partition int, held bigint")
        new = rows.join(self._held, [*PLACE[:2]], "left").where("held is null or source_offset > held").drop("held")
        bronze.append(new, self.layout, table="bronze", once=once)

    def settle(self, rows: DataFrame) -> None:
        """Bring bronze rows into all tables behind bronze."""
        translated = translate(rows).persist()
        try:
            self._quarantine(translated)
            good = translated.where("size(errors) = 0").select(*SILVER)
            whose = users(rows, good, self.layout)
            newer = "s.revision > t.revision"
            merge(newest(good, KEY), self.layout, table="silver", key=KEY, changed=newer, users=whose)
            if not rows.where("entity = 'accounts'").isEmpty():  # as with the quarantine
                merge(accounts(rows), self.layout, table="accounts", key=KEY[:2], changed=newer)
        finally:
            translated.unpersist()
        classify.refresh(rows.sparkSession, self.layout, whose)

    def _quarantine(self, translated: DataFrame) -> None:
        bad = translated.where("size(errors) > 0").selectExpr(
            "*", f"{RULE_VERSION} as rule_version", "cast(null as timestamp) as replayed_at"
        )
        if not bad.isEmpty():  # nearly always: and an empty merge costs as much as a full one
            merge(bad.select(*QUARANTINE), self.layout, table="quarantine", key=PLACE, changed="false")


def history(spark: SparkSession, bootstrap: str, layout: Layout) -> None:
    """Take the topics' whole history in at once: the same tables, without a stream."""
    layout.create(spark)
    Flow(layout).take(spark.read.format("kafka").options(**bronze.options(bootstrap)).load())


def replay(spark: SparkSession, layout: Layout) -> int:
    """Try quarantined rows again by today's rules; return how many are in silver now."""
    waiting = spark.read.format("delta").load(layout.path("quarantine")).where("replayed_at is null")
    rows = waiting.select(*(name for name in BRONZE)).localCheckpoint()
    good = translate(rows).where("size(errors) = 0").select(*PLACE).localCheckpoint()
    count = good.count()
    if count:
        Flow(layout).settle(rows.join(good, [*PLACE], "left_semi"))
        replayed = waiting.join(good, [*PLACE], "left_semi").drop("replayed_at")
        merge(
            replayed.selectExpr("*", "current_timestamp() as replayed_at").select(*QUARANTINE).localCheckpoint(),
            layout,
            table="quarantine",
            key=PLACE,
            changed="true",
        )
    return count


def reclassify(spark: SparkSession, layout: Layout) -> None:
    """Classify everybody's transactions by today's maps, rules and overrides."""
    classify.refresh(spark, layout, EVERYBODY)
