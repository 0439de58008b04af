"""Writes the first commit of an empty table through Delta's own log store: no query, and no class of the write path."""

from __future__ import annotations

import json
import time
import uuid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

CHANGE_FEED = "delta.enableChangeDataFeed"


def delta_log(spark: SparkSession, path: str) -> Any:  # noqa: ANN401 - an object of the JVM
    """Return Delta's log of a table in the driver's JVM; None on Spark Connect, and where Delta is another product.

    The log is read anew: the JVM's copy of it outlives a folder that was deleted.
    """
    from py4j.java_gateway import JavaClass

    if not hasattr(spark, "_jsparkSession"):
        return None
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - PySpark gives no other way to the JVM
    logs = jvm.org.apache.spark.sql.delta.DeltaLog
    if not isinstance(logs, JavaClass):
        return None
    logs.invalidateCache(spark._jsparkSession, jvm.org.apache.hadoop.fs.Path(path))  # noqa: SLF001 - as above
    return logs.forTable(spark._jsparkSession, path)  # noqa: SLF001 - as above


def write_first_commit(
    spark: SparkSession,
    log: Any,  # noqa: ANN401 - an object of the JVM
    columns: Mapping[str, str],
    properties: Mapping[str, str],
) -> None:
    """Create the table of a log; do nothing if another driver creates it meanwhile.

    The log store writes a commit once, as for every commit of Delta.
    """
    from py4j.protocol import Py4JJavaError

    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - PySpark gives no other way to the JVM
    commit = jvm.org.apache.hadoop.fs.Path(log.logPath(), f"{0:020}.json")
    lines = jvm.java.util.ArrayList()
    for action in _actions(columns, properties):
        lines.add(json.dumps(action))
    log.createLogDirectoriesIfNotExists()
    try:
        actions = jvm.scala.jdk.javaapi.CollectionConverters.asScala(lines.iterator())
        log.store().write(commit, actions, False, log.newDeltaHadoopConf())
    except Py4JJavaError as error:
        if "FileAlreadyExists" not in str(error):
            raise


def _actions(columns: Mapping[str, str], properties: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the actions of the commit (Delta's protocol, "Actions"), as Delta 4.4 writes them for an empty frame."""
    from pyspark.sql.types import StructType

    now = time.time_ns() // 1_000_000
    yield {
        "commitInfo": {
            "timestamp": now,
            "operation": "CREATE TABLE",
            "operationParameters": {},
            "isolationLevel": "Serializable",
            "isBlindAppend": True,
        }
    }
    features = {"minWriterVersion": 7, "writerFeatures": ["changeDataFeed", "invariants", "appendOnly"]}
    yield {"protocol": {"minReaderVersion": 1, **(features if CHANGE_FEED in properties else {"minWriterVersion": 2})}}
    schema = StructType.fromDDL(", ".join(f"`{name}` {kind}" for name, kind in columns.items()))
    yield {
        "metaData": {
            "id": str(uuid.uuid4()),
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema.json(),
            "partitionColumns": [],
            "configuration": dict(properties),
            "createdTime": now,
        }
    }
