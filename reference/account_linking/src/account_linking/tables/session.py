"""A Spark session with Delta and Kafka: the platform's, or a local one."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from account_linking.kafka_security import HIDDEN_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

PACKAGES = (
    "io.delta:delta-spark_4.2_2.13:4.4.0",
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
)
"""For a Spark without Delta and Kafka packages. With spark-submit the cluster provides them."""

SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.redaction.options.regex": HIDDEN_OPTIONS,
}

LOCAL = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",  # for a local Spark with two cores; a cluster keeps its own default
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",  # a megabyte for each join: a sixth of a small batch
}


RUN_TIME_SETTINGS = ("spark.sql.session.timeZone", "spark.sql.redaction.options.regex")
"""Those of SETTINGS that a client of Spark Connect may set; the server needs the others when it starts."""


def get_or_create_session(jars: Sequence[Path] = (), conf: Mapping[str, str] | None = None) -> SparkSession:
    """Return the active session, else a local session with `jars`, or with PACKAGES where no jars are given."""
    from pyspark.sql import SparkSession  # workers without Spark import this package

    if active := SparkSession.getActiveSession():
        return active
    if "SPARK_REMOTE" in os.environ:
        return _connect_session(conf or {})
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("account-linking")
    settings = dict(SETTINGS)
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        settings |= {**LOCAL, "spark.master": f"local[{os.cpu_count()}]"}
        settings |= (
            {"spark.driver.extraClassPath": os.pathsep.join(map(str, jars))}
            if jars
            else {"spark.jars.packages": ",".join(PACKAGES)}
        )
    for name, value in {**settings, **(conf or {})}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _connect_session(conf: Mapping[str, str]) -> SparkSession:
    """Return a session of Spark Connect (SPARK_REMOTE). The stream's batches run on the server, and need this code."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for name, value in {**{name: SETTINGS[name] for name in RUN_TIME_SETTINGS}, **conf}.items():
        builder = builder.config(name, value)
    spark: SparkSession = builder.getOrCreate()
    archive = Path(__file__).parents[2]
    if archive.is_file():
        spark.addArtifacts(str(archive), pyfile=True)
    return spark
