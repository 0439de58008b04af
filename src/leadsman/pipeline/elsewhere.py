"""Reads captures from any file system that Spark reads: object stores, HDFS. Named by URL, such as s3a://bucket/logs.

Spark's binary file source brings whole files (2 GB at most each) to the tasks; from there on they are read as local
files are. A file is a stream of its own here: tasks do not meet, so gaps between rotated files are not seen.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from leadsman.errors import CaptureError
from leadsman.pipeline.events import SPARK
from leadsman.pipeline.parcels import PARCEL_IN_SPARK

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

WILDCARDS = re.compile(r"([\[\]{}*?\\])")


def events_elsewhere(spark: SparkSession, path: str, zone: tzinfo) -> DataFrame:
    """Return the event table of everything below a URL. Raises CaptureError where there is nothing."""
    return _read(spark, path, zone, packed=False)


def parcels_elsewhere(spark: SparkSession, path: str, zone: tzinfo) -> DataFrame:
    """Return the same events as parcels."""
    return _read(spark, path, zone, packed=True)


def _read(spark: SparkSession, path: str, zone: tzinfo, *, packed: bool) -> DataFrame:
    root = urlsplit(path).path.rstrip("/")

    def read_files(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from leadsman.pipeline.elsewhere import read_file  # noqa: PLC0415 - runs on the executor
        from leadsman.pipeline.parcels import parcels  # noqa: PLC0415

        for batch in batches:
            for row in batch.to_pylist():
                told = read_file(row, capture=path, root=root, zone=zone)
                yield from parcels(told) if packed else told

    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    try:
        files = reader.load(WILDCARDS.sub(r"\\\1", path)).select("path", "modificationTime", "content")
        empty = files.select("path").isEmpty()
    except Exception as error:
        raise CaptureError(f"No capture at {path}: {str(error).strip().splitlines()[0]}") from error
    if empty:
        raise CaptureError(f"Nothing to read at {path}. Give a capture, a folder of logs, or a log file.")
    return files.mapInArrow(read_files, PARCEL_IN_SPARK if packed else SPARK)


def read_file(row: dict[str, Any], *, capture: str, root: str, zone: tzinfo) -> Iterator[pa.RecordBatch]:
    """Put one file's bytes where the reader can read them, and yield its events."""
    from pathlib import Path  # noqa: PLC0415 - runs on the executor
    from tempfile import TemporaryDirectory  # noqa: PLC0415
    from urllib.parse import unquote  # noqa: PLC0415

    from leadsman.capture import MANIFEST  # noqa: PLC0415 - runs on the executor
    from leadsman.pipeline.events import batches  # noqa: PLC0415
    from leadsman.pipeline.read import read  # noqa: PLC0415
    from leadsman.pipeline.streams import File, Stream, stream_of  # noqa: PLC0415

    whole = unquote(urlsplit(row["path"]).path) if "%" in row["path"] else row["path"].partition(":")[2].lstrip("/")
    name = whole.lstrip("/").removeprefix(root.lstrip("/")).lstrip("/") or whole.rpartition("/")[2]
    if name == MANIFEST:
        return
    with TemporaryDirectory(prefix="leadsman-") as folder:
        path = Path(folder, "file")
        path.write_bytes(row["content"])
        file = File(str(path), name, len(row["content"]), row["modificationTime"])
        yield from batches(read(Stream(capture, stream_of(name), (file,)), zone))
