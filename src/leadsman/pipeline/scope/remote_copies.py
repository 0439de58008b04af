"""Measures remote files, so that duplicates are found as among local files. Tasks read; the driver compares."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from leadsman.pipeline.read.blocks import BLOCK_BYTES
from leadsman.pipeline.scope.copies import (
    GZIP_TRAILER,
    HEAD_BYTES,
    ZSTD_HEADER,
    digest,
    first_block,
    has_unique_times,
    uncompressed_length,
)
from leadsman.pipeline.scope.remote_files import piece_requests, read_pieces, spool_streams, whole_file_requests
from leadsman.pipeline.scope.streams import File, Stream, balance_streams, task_count
from leadsman.pipeline.spark.pyspark_startup import map_in_arrow

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence
    from datetime import tzinfo

    from pyspark.sql import DataFrame, SparkSession

    from leadsman.pipeline.scope.remote_files import StreamsByTask

    Measure = Callable[[File], bytes]


@dataclass(frozen=True, slots=True)
class RemoteFileMeasures:
    """Measures remote files in Spark tasks. `cores` bounds the number of tasks."""

    spark: SparkSession
    zone: tzinfo
    cores: int

    def lengths(self, files: Sequence[File]) -> Sequence[int]:
        """Read the first and last bytes of each file."""

        def length(file: File) -> bytes:
            return uncompressed_length(file).to_bytes(8, "big")

        lengths = self._measure(files, length, requests_of=header_and_trailer_requests)
        return [int.from_bytes(each, "big") for each in lengths]

    def heads(self, files: Sequence[File]) -> Sequence[Hashable]:
        """Read the first block of each file."""

        def first_bytes(file: File) -> bytes:
            return first_block(file)[:HEAD_BYTES]

        return self._measure(_first_blocks(files), first_bytes)

    def digests(self, files: Sequence[File]) -> Sequence[Hashable]:
        """Read each file to its end."""
        return self._measure(files, digest)

    def are_unique(self, files: Sequence[File]) -> Sequence[bool]:
        """Read the first block of each file."""
        zone = self.zone

        def is_unique(file: File) -> bytes:
            return b"1" if has_unique_times(file, zone) else b""

        return [bool(each) for each in self._measure(_first_blocks(files), is_unique)]

    def _measure(
        self, files: Sequence[File], measure: Measure, *, requests_of: Callable[..., Any] = whole_file_requests
    ) -> list[bytes]:
        """Return the measure of each file, in the files' order; empty for a file that cannot be read."""
        if not files:
            return []
        streams = [Stream("", str(number), (file,)) for number, file in enumerate(files)]
        tasks = balance_streams(streams, task_count(streams, self.cores))
        rows = _measures(read_pieces(self.spark, tasks, requests_of), tasks, measure).collect()
        measures = {row["number"]: bytes(row["measure"]) for row in rows}
        return [measures.get(number, b"") for number in range(len(files))]


def _measures(pieces: DataFrame, tasks: StreamsByTask, measure: Measure) -> DataFrame:
    def measure_files(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for each in spool_streams(batches, tasks):
            if each.stream.files:
                (file,) = each.stream.files
                yield pa.RecordBatch.from_pydict({"number": [int(each.stream.name)], "measure": [measure(file)]})

    return map_in_arrow(pieces, measure_files, "number bigint, measure binary")


def _first_blocks(files: Sequence[File]) -> list[File]:
    return [replace(file, bytes=min(file.bytes, BLOCK_BYTES)) for file in files]


def header_and_trailer_requests(task: int, streams: Sequence[Stream]) -> Iterator[pa.RecordBatch]:
    """Yield the requests for the bytes in which a compressed file states its length: its header and its trailer."""
    for number, stream in enumerate(streams):
        for position, file in enumerate(stream.files):
            first, last = min(ZSTD_HEADER, file.bytes), min(GZIP_TRAILER, file.bytes)
            spans = [(0, first), (file.bytes - last, last)]
            yield piece_requests(task, number, position, file=file, spans=spans)
