"""The two streams: from raw topics into the tables, and from changes of `classified` into the topic of changes."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from account_linking.tables import bronze
from account_linking.tables.ingest import Ingestion
from account_linking.tables.layout import FORGOTTEN_VERSION, KEY
from account_linking.topics import TRANSACTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from account_linking.tables.layout import Layout

MAX_ROWS_PER_BATCH = 50_000
"""Limits the memory of one batch (`maxOffsetsPerTrigger`); a batch of this size takes seconds."""

CHECKPOINT_EMPTY_CHECK = "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart"
"""Switched off: a driver that is killed while it writes its first offsets leaves a temporary file, and with the check
no later driver would start. The check protects stateful queries; these are stateless."""

INTERNAL_COLUMNS = ("user_ref", "content_sha256", "event_id", "revision", "is_deleted")


def start_tables(
    spark: SparkSession,
    bootstrap: str,
    layout: Layout,
    *,
    checkpoint: str,
    every: str | None = None,
    security: Mapping[str, str] = MappingProxyType({}),
) -> StreamingQuery:
    """Start the stream into the tables: all available records, or with `every` ("1 second") without end."""
    layout.create(spark)
    spark.conf.set(CHECKPOINT_EMPTY_CHECK, "false")
    ingestion = Ingestion(layout)
    limits = {"maxOffsetsPerTrigger": str(MAX_ROWS_PER_BATCH), "failOnDataLoss": "true"}
    options = {**bronze.options(bootstrap, security), **limits}
    records = spark.readStream.format("kafka").options(**options).load()
    writer = records.writeStream.option("checkpointLocation", checkpoint).queryName("tables")
    trigger = writer.trigger(processingTime=every) if every else writer.trigger(availableNow=True)
    return trigger.foreachBatch(lambda batch, number: ingestion.ingest(batch, batch=number)).start()


def start_changes(
    spark: SparkSession,
    bootstrap: str,
    layout: Layout,
    *,
    checkpoint: str,
    every: str | None = None,
    security: Mapping[str, str] = MappingProxyType({}),
) -> StreamingQuery:
    """Start the stream of changes into the topic `bank.transaction.v1`.

    A new checkpoint starts with the current rows, then the changes: the first versions of the table may have left the
    disk with VACUUM. At least once: a consumer keeps the highest `sequence` of each key, or drops event ids that it
    already has.
    """
    layout.create(spark)
    spark.conf.set(CHECKPOINT_EMPTY_CHECK, "false")
    feed = spark.readStream.format("delta").option("readChangeFeed", "true")
    changed = feed.load(layout.path("classified")).where("_change_type in ('insert', 'update_postimage')")
    brokers = {**security, "kafka.bootstrap.servers": bootstrap}
    writer = events(changed).writeStream.format("kafka").options(**brokers)
    writer = writer.option("topic", TRANSACTIONS).option("checkpointLocation", checkpoint).queryName("changes")
    trigger = writer.trigger(processingTime=every) if every else writer.trigger(availableNow=True)
    return trigger.start()


def events(changed: DataFrame) -> DataFrame:
    """Return rows of the change feed as Kafka records: key, JSON, headers by which a consumer drops duplicates."""
    body = ", ".join(name for name in changed.columns if not name.startswith("_") and name not in INTERNAL_COLUMNS[1:3])
    header_columns = {
        "event-id": "event_id",
        "op": "if(is_deleted, 'DELETE', 'UPSERT')",
        "revision": "cast(revision as string)",
        "sequence": "cast(_commit_version as string)",
        "schema": "'bank.transaction.v1'",
    }
    headers = ", ".join(
        f"named_struct('key', '{name}', 'value', encode({value}, 'UTF-8'))" for name, value in header_columns.items()
    )
    return changed.selectExpr(
        f"concat_ws('|', {', '.join(KEY)}) as key",
        f"if(class_version <=> '{FORGOTTEN_VERSION}', null, to_json(struct({body}))) as value",
        f"array({headers}) as headers",
    )
