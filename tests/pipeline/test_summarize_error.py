"""A long error of Spark in one line."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

import pytest

from leadsman.pipeline.spark.executors import summarize_error

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


@pytest.mark.spark
def test_a_streaming_query_that_fails_in_a_worker_is_summarized_by_the_error_of_the_worker(
    spark: SparkSession, tmp_path: Path
) -> None:
    def no_space(_: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "state")
        yield

    def run(batch: DataFrame, _: int) -> None:
        batch.collect()

    rates = spark.readStream.format("rate").load().mapInArrow(no_space, "value long")
    query = rates.writeStream.foreachBatch(run)
    running = query.option("checkpointLocation", str(tmp_path)).start()
    with pytest.raises(Exception, match="No space left"):
        running.awaitTermination(60)

    error = running.exception()

    assert error is not None
    assert summarize_error(error) == "OSError: [Errno 28] No space left on device: 'state'"


@pytest.mark.spark
def test_an_error_of_the_jvm_is_summarized_by_its_first_cause(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="Mkdirs") as failed:
        spark.range(1).write.parquet("/proc/leadsman/no-folder-can-be-here")

    summary = summarize_error(failed.value)

    assert summary.startswith("java.io.IOException: Mkdirs failed to create file:/proc/leadsman/no-folder")
