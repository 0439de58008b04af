"""The two streams: from raw topics into the tables, and from changes of `classified` into the topic of changes."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from account_linking.tables import bronze
from account_linking.tables.ingest import Ingestion
from account_linking.tables.layout import CONTENT, FORGOTTEN_VERSION, KEY
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

CLASSES = ("class", "class_source", "class_confidence", "transfer_of")
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
    disk with VACUUM. At least once: a consumer keeps the highest `sequence` of each key. The event id names a state: a
    transaction that returns to an earlier state has that state's id again.
    """
    layout.create(spark)
    spark.conf.set(CHECKPOINT_EMPTY_CHECK, "false")
    feed = spark.readStream.format("delta").option("readChangeFeed", "true")
    changed = feed.load(layout.path("classified")).where("_change_type in ('insert', 'update_postimage', 'delete')")
    brokers = {**security, "kafka.bootstrap.servers": bootstrap}
    changes = events(changed, first_sequence=first_sequence(spark, layout))
    writer = changes.writeStream.format("kafka").options(**brokers)
    writer = writer.option("topic", TRANSACTIONS).option("checkpointLocation", checkpoint).queryName("changes")
    trigger = writer.trigger(processingTime=every) if every else writer.trigger(availableNow=True)
    return trigger.start()


def first_sequence(spark: SparkSession, layout: Layout) -> int:
    """Return the `sequence` of the first commit of `classified`: the time of the table's creation in milliseconds.

    Versions of a new table start at 0 again. A commit takes longer than a millisecond: so the sequences of a table that
    was created anew are above those of the old one, and consumers that keep the highest `sequence` accept them.
    """
    created = spark.sql(f"describe detail {layout.sql('classified')}").selectExpr("unix_millis(createdAt)")
    return int(created.collect()[0][0])


def _state(name: str) -> str:
    """Return SQL of a column after the change: a deleted row has no content, as a deleted transaction."""
    if name == "is_deleted":
        return "is_deleted or _change_type = 'delete'"
    return f"if(_change_type = 'delete', null, `{name}`)" if name in (*CONTENT, *CLASSES) else f"`{name}`"


def events(changed: DataFrame, *, first_sequence: int = 0) -> DataFrame:
    """Return rows of the change feed as Kafka records: key, JSON, headers by which a consumer drops duplicates."""
    changed = changed.selectExpr(*(f"{_state(name)} as `{name}`" for name in changed.columns))
    body = ", ".join(name for name in changed.columns if not name.startswith("_") and name not in INTERNAL_COLUMNS[1:3])
    header_columns = {
        "event-id": "event_id",
        "op": "if(is_deleted, 'DELETE', 'UPSERT')",
        "revision": "cast(revision as string)",
        "sequence": f"cast({first_sequence} + _commit_version as string)",
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
