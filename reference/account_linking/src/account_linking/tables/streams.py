"""The two streams: raw topics into the tables, and what changed in them into the topic that applications read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from account_linking.names import TRANSACTIONS
from account_linking.tables import bronze
from account_linking.tables.flow import Flow
from account_linking.tables.layout import KEY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from account_linking.tables.layout import Layout

ROWS_A_BATCH = 50_000
"""Bounds what one batch holds in memory; a batch of this size takes seconds."""

REUSED = "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart"
"""Off: a driver that is killed as it writes its first offsets leaves a temporary file, and no later one would start.
The check is for queries with a state of their own; these have none."""

INNER = ("user_ref", "content_sha256", "event_id", "revision", "is_deleted")


def tables(
    spark: SparkSession, bootstrap: str, layout: Layout, *, checkpoint: str, every: str | None = None
) -> StreamingQuery:
    """Start the stream into the tables: all there is and then the end, or with `every` ("1 second") for ever."""
    layout.create(spark)
    spark.conf.set(REUSED, "false")
    flow = Flow(layout)
    told = {**bronze.options(bootstrap), "maxOffsetsPerTrigger": str(ROWS_A_BATCH), "failOnDataLoss": "true"}
    records = spark.readStream.format("kafka").options(**told).load()
    writer = records.writeStream.option("checkpointLocation", checkpoint).queryName("tables")
    trigger = writer.trigger(processingTime=every) if every else writer.trigger(availableNow=True)
    return trigger.foreachBatch(lambda batch, number: flow.take(batch, batch=number)).start()


def changes(
    spark: SparkSession, bootstrap: str, layout: Layout, *, checkpoint: str, every: str | None = None
) -> StreamingQuery:
    """Start the stream of what changed into the topic `bank.transaction.v1`.

    At least once: who reads it keeps the highest `sequence` of each key, or drops event ids that it knows.
    """
    layout.create(spark)
    spark.conf.set(REUSED, "false")
    feed = spark.readStream.format("delta").option("readChangeFeed", "true").option("startingVersion", 0)
    changed = feed.load(layout.path("classified")).where("_change_type in ('insert', 'update_postimage')")
    writer = events(changed).writeStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    writer = writer.option("topic", TRANSACTIONS).option("checkpointLocation", checkpoint).queryName("changes")
    trigger = writer.trigger(processingTime=every) if every else writer.trigger(availableNow=True)
    return trigger.start()


def events(changed: DataFrame) -> DataFrame:
    """Return rows of the change feed as records: key, JSON, and headers that make a duplicate known for one."""
    body = ", ".join(name for name in changed.columns if not name.startswith("_") and name not in INNER[1:3])
    said = {
        "event-id": "event_id",
        "op": "if(is_deleted, 'DELETE', 'UPSERT')",
        "revision": "cast(revision as string)",
        "sequence": "cast(_commit_version as string)",
        "schema": "'bank.transaction.v1'",
    }
    headers = ", ".join(
        f"named_struct('key', '{name}', 'value', encode({value}, 'UTF-8'))" for name, value in said.items()
    )
    return changed.selectExpr(
        f"concat_ws('|', {', '.join(KEY)}) as key", f"to_json(struct({body})) as value", f"array({headers}) as headers"
    )
