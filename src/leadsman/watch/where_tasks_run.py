"""Where the tasks of a watch run, and whether their machines see the folder of the state, which they write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from leadsman.errors import SparkError
from leadsman.pipeline.spark.event_frames import cores
from leadsman.pipeline.spark.executors import is_connect
from leadsman.pipeline.spark.pyspark_startup import map_in_arrow
from leadsman.pipeline.spark.session import GATEWAY_PORT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


def is_local(spark: SparkSession) -> bool:
    """Whether tasks run on this machine."""
    return not is_connect(spark) and str(spark.sparkContext.master).startswith("local")


def has_package(spark: SparkSession) -> bool:
    """Whether Python processes that Spark starts can import this package as this process does."""
    return is_local(spark) and GATEWAY_PORT not in os.environ


def require_shared_folder(spark: SparkSession, folder: Path) -> None:
    """Raise SparkError where tasks run on machines that do not see the folder, or may not write into it."""
    if is_local(spark):
        return
    test_file = folder / f".seen-{uuid4()}"
    test_file.write_bytes(b"")
    try:
        faults = _faults(spark, str(test_file))
    finally:
        for each in folder.glob(f"{test_file.name}*"):
            each.unlink(missing_ok=True)
    if faults:
        raise SparkError(
            f"--to {folder}: {faults[0]}. Tasks keep their states there: give a folder that this machine and those of "
            "the cluster have in common, under the same path (NFS, EFS, /Volumes)."
        )


def _faults(spark: SparkSession, test_file: str) -> list[str]:
    """Return what the machines of some tasks lack."""

    def check_folder(batches: Iterator[Any]) -> Iterator[Any]:
        import socket

        import pyarrow as pa

        for _ in batches:
            why = []
            if not Path(test_file).exists():
                why = [f"{socket.gethostname()} does not see this folder"]
            else:
                try:
                    Path(f"{test_file}-{uuid4()}").write_bytes(b"")
                except OSError as error:
                    why = [f"{socket.gethostname()} cannot write there: {error.strerror}"]
            yield pa.RecordBatch.from_pydict({"why": pa.array(why, pa.string())})

    tasks = cores(spark)
    rows = map_in_arrow(spark.range(0, tasks, 1, tasks), check_folder, "why string").collect()
    return sorted(row["why"] for row in rows)
