"""Measures files that lie elsewhere, so that copies are found as on disk. Tasks read; the driver only compares."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from leadsman.pipeline.blocks import BLOCK_BYTES
from leadsman.pipeline.copies import (
    GZIP_TRAILER,
    HEAD_BYTES,
    ZSTD_HEADER,
    digest,
    has_its_own_times,
    head,
    unpacked_length,
)
from leadsman.pipeline.remote_files import pieces_of, pieces_of_parts, requests, spooled
from leadsman.pipeline.streams import File, Stream, balanced, tasks_for

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence
    from datetime import tzinfo

    from pyspark.sql import DataFrame, SparkSession

    from leadsman.pipeline.remote_files import Parts

    Measure = Callable[[File], bytes]


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Measures files through Spark. `cores` says how many tasks are worth it."""

    spark: SparkSession
    zone: tzinfo
    cores: int

    def lengths(self, files: Sequence[File]) -> Sequence[int]:
        """Read the first and last bytes of each."""

        def length(file: File) -> bytes:
            return unpacked_length(file).to_bytes(8, "big")

        found = self._measured(files, length, requests_of=ends_of)
        return [int.from_bytes(each, "big") for each in found]

    def heads(self, files: Sequence[File]) -> Sequence[Hashable]:
        """Read the first block of each."""

        def beginning(file: File) -> bytes:
            return head(file)[:HEAD_BYTES]

        return self._measured(_begun(files), beginning)

    def digests(self, files: Sequence[File]) -> Sequence[Hashable]:
        """Read all."""
        return self._measured(files, digest)

    def timed(self, files: Sequence[File]) -> Sequence[bool]:
        """Read the first block of each."""
        zone = self.zone

        def known(file: File) -> bytes:
            return b"1" if has_its_own_times(file, zone) else b""

        return [bool(each) for each in self._measured(_begun(files), known)]

    def _measured(
        self, files: Sequence[File], measure: Measure, *, requests_of: Callable[..., Any] = pieces_of
    ) -> list[bytes]:
        """Return the measure of each file, in their order; of one that cannot be read, nothing."""
        if not files:
            return []
        streams = [Stream("", str(number), (file,)) for number, file in enumerate(files)]
        parts = balanced(streams, tasks_for(streams, self.cores))
        rows = _measures(pieces_of_parts(self.spark, parts, requests_of), parts, measure).collect()
        found = {row["number"]: bytes(row["measure"]) for row in rows}
        return [found.get(number, b"") for number in range(len(files))]


def _measures(pieces: DataFrame, parts: Parts, measure: Measure) -> DataFrame:
    def measured(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for each in spooled(batches, parts):
            if each.stream.files:
                (file,) = each.stream.files
                yield pa.RecordBatch.from_pydict({"number": [int(each.stream.name)], "measure": [measure(file)]})

    return pieces.mapInArrow(measured, "number bigint, measure binary")


def _begun(files: Sequence[File]) -> list[File]:
    return [replace(file, bytes=min(file.bytes, BLOCK_BYTES)) for file in files]


def ends_of(part: int, streams: Sequence[Stream]) -> Iterator[pa.RecordBatch]:
    """Yield the rows that ask for what a compressed file says of its length: its header and its trailer."""
    for number, stream in enumerate(streams):
        for place, file in enumerate(stream.files):
            first, last = min(ZSTD_HEADER, file.bytes), min(GZIP_TRAILER, file.bytes)
            spans = [(0, first), (file.bytes - last, last)]
            yield requests(part, number, place, file=file, spans=spans)
