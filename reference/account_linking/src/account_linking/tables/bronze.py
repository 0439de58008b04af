"""The table bronze: raw records unchanged, each once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from account_linking.tables.layout import BRONZE
from account_linking.tables.literals import sql_literal
from account_linking.topics import RAW_PATTERN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from account_linking.tables.layout import Layout

HEADERS = {"item_ref": "item", "user_ref": "user", "op": "op", "revision": "revision"}


def options(bootstrap: str, security: Mapping[str, str]) -> dict[str, str]:
    """Return the options of Spark's Kafka source, for the stream and for the history."""
    return {
        **security,
        "kafka.bootstrap.servers": bootstrap,
        "subscribePattern": RAW_PATTERN,
        "startingOffsets": "earliest",
        "includeHeaders": "true",
    }


def to_bronze(records: DataFrame) -> DataFrame:
    """Return Kafka records as bronze rows. A missing header becomes null; no record can make this fail."""
    header_columns = {
        name: f"cast(get(filter(headers, h -> h.key = '{header}'), 0).value as string)"
        for name, header in HEADERS.items()
    }
    columns = {
        "provider": "split(topic, '[.]')[1]",
        "entity": "split(topic, '[.]')[2]",
        "key": "cast(key as string)",
        "value": "cast(value as string)",
        **header_columns,
        "revision": f"try_cast({header_columns['revision']} as bigint)",
        "source_topic": "topic",
        "source_partition": "partition",
        "source_offset": "offset",
        "received_at": "timestamp",
        "raw_sha256": "sha2(value, 256)",
    }
    return records.selectExpr(*(f"{columns[name]} as `{name}`" for name in BRONZE))


def append(rows: DataFrame, layout: Layout, *, table: str, txn: tuple[str, int] | None) -> None:
    """Append rows; with `txn` (query id, batch number) Delta ignores a batch that is written again."""
    writer = rows.write.format("delta").mode("append")
    if txn:
        writer = writer.option("txnAppId", f"{txn[0]}-{table}").option("txnVersion", txn[1])
    writer.save(layout.path(table))


def read_bronze(spark: SparkSession, layout: Layout) -> DataFrame:
    """Return the table bronze."""
    return spark.read.format("delta").load(layout.path("bronze"))


def last_offsets(spark: SparkSession, layout: Layout) -> dict[tuple[str, int], int]:
    """Return the highest offset that bronze has, by topic and partition."""
    offsets = read_bronze(spark, layout).groupBy("source_topic", "source_partition").agg({"source_offset": "max"})
    return {(topic, partition): offset for topic, partition, offset in offsets.collect()}


def is_new(offsets: Mapping[tuple[str, int], int]) -> str:
    """Return SQL that is true for records above these offsets: a map and no join, which would need a shuffle."""
    if not offsets:
        return "true"
    pairs = ", ".join(f"{sql_literal(f'{topic}|{partition}')}, {last}L" for (topic, partition), last in offsets.items())
    return f"source_offset > coalesce(try_element_at(map({pairs}), concat(source_topic, '|', source_partition)), -1)"
