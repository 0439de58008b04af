"""Raw records as they came, each once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from account_linking.names import RAW_PATTERN
from account_linking.tables.layout import BRONZE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from account_linking.tables.layout import Layout

HEADERS = {"item_ref": "item", "user_ref": "user", "op": "op", "revision": "revision"}


def options(bootstrap: str) -> dict[str, str]:
    """Return what Spark's Kafka source is told, for a stream and for a history alike."""
    return {
        "kafka.bootstrap.servers": bootstrap,
        "subscribePattern": RAW_PATTERN,
        "startingOffsets": "earliest",
        "includeHeaders": "true",
    }


def bronze(records: DataFrame) -> DataFrame:
    """Return Kafka records as bronze rows. A header that is missing is null; nothing here can fail."""
    said = {
        name: f"cast(get(filter(headers, h -> h.key = '{header}'), 0).value as string)"
        for name, header in HEADERS.items()
    }
    columns = {
        "provider": "split(topic, '[.]')[1]",
        "entity": "split(topic, '[.]')[2]",
        "key": "cast(key as string)",
        "value": "cast(value as string)",
        **said,
        "revision": f"try_cast({said['revision']} as bigint)",
        "source_topic": "topic",
        "source_partition": "partition",
        "source_offset": "offset",
        "received_at": "timestamp",
        "raw_sha256": "sha2(value, 256)",
    }
    return records.selectExpr(*(f"{columns[name]} as `{name}`" for name in BRONZE))


def append(rows: DataFrame, layout: Layout, *, table: str, once: tuple[str, int] | None) -> None:
    """Append rows; with `once` (who, which batch) a batch that is written again changes nothing."""
    writer = rows.write.format("delta").mode("append")
    if once:
        writer = writer.option("txnAppId", f"{once[0]}-{table}").option("txnVersion", once[1])
    writer.save(layout.path(table))


def known(spark: SparkSession, layout: Layout) -> DataFrame:
    """Return all that is in bronze."""
    return spark.read.format("delta").load(layout.path("bronze"))
