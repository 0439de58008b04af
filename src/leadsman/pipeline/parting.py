"""Finds what of each capture is of which cluster, and gives the events of each part a capture of their own.

What is known of files is had in one go, and where a capture is of one cluster nothing else is done.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from leadsman import vocabulary as names
from leadsman.pipeline.clusters import Told, parts_of
from leadsman.pipeline.events import texts
from leadsman.pipeline.lean import frame_of
from leadsman.pipeline.listing import tells_of, visible_sources
from leadsman.telemetry.source import CLUSTER_ID

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from leadsman.pipeline.clusters import Part
    from leadsman.pipeline.question import Input, Question

OF_FILES = (names.FILE_READ, names.FILE_NOT_UNDERSTOOD)


class FileSaid(NamedTuple):
    """What is said of a file: that it was read or could not be, or of which cluster it tells."""

    capture: str
    file: str
    name: str
    labels: Mapping[str, str]

    @property
    def cluster(self) -> str | None:
        """The cluster that it tells of."""
        told = self.name == names.SETTING and self.labels["key"] == CLUSTER_ID["key"]
        return self.labels["value"] if told else None


def files_of(events: DataFrame, source: Input) -> list[FileSaid]:
    """Return what is said of each file."""
    if source.is_here:
        assert source.events is not None
        return _files_here(source.events)
    of_cluster = (F.col("name") == names.SETTING) & (F.col("labels")["key"] == CLUSTER_ID["key"])
    said = events.where(F.col("name").isin(*OF_FILES) | of_cluster).select("capture", "file", "name", "labels")
    return [FileSaid(*row) for row in said.collect()]


def _files_here(events: pa.Table) -> list[FileSaid]:
    """Return the same of events that are here. Arrow's own search would load pandas, which takes a second."""
    of_files = [row for row, name in enumerate(events.column("name").to_pylist()) if name in OF_FILES]
    captures, files, event, labels = (events.column(name) for name in ("capture", "file", "name", "labels"))
    return [
        FileSaid(captures[row].as_py(), files[row].as_py(), event[row].as_py(), dict(labels[row].as_py()))
        for row in (*of_files, *_telling_clusters(labels))
    ]


def _telling_clusters(labels: pa.ChunkedArray[Any]) -> Iterator[int]:
    """Yield the rows among whose labels is the key of a cluster's id. Opening all settings would take longer."""
    before = 0
    chunk: Any  # Arrow's types do not know those of maps
    for chunk in labels.chunks:
        starts = chunk.offsets.to_pylist()
        for place, text in enumerate(chunk.items.to_pylist()):
            if text == CLUSTER_ID["key"]:
                yield before + bisect_right(starts, place) - 1
        before += len(chunk)


def parts_in(source: Input, files: Sequence[FileSaid]) -> list[Part]:
    """Return what is to be diagnosed by itself, capture by capture."""
    told: dict[str, list[Told]] = {path: [] for path in source.found}
    for each in files:
        told[each.capture].append((each.file, each.cluster))
    for path, found in source.found.items():
        told[path] += [(each.file, None) for each in found.refused]
    return [part for path, pairs in told.items() for part in parts_of(path, pairs)]


def parted(events: DataFrame, parts: Sequence[Part]) -> DataFrame:
    """Return the events with the part that each is of as their capture."""
    of_part = [(part.path, file, part.name) for part in parts if part.name != part.path for file in part.files]
    columns = dict(zip(("capture", "file", "part"), zip(*of_part, strict=True), strict=True))
    named = frame_of(events.sparkSession, texts(columns))
    joined = events.join(F.broadcast(named), ["capture", "file"], "left")
    return joined.withColumn("capture", F.coalesce("part", "capture")).select(*events.columns)


def sources_of(files: Sequence[FileSaid], parts: Sequence[Part], question: Question) -> dict[str, set[str]]:
    """Return the sources whose symptoms each part could show, in the time asked for."""
    part_of = {(part.path, file): part.name for part in parts for file in part.files}
    read: dict[str, list[Mapping[str, str]]] = {}
    for each in files:
        if each.name == names.FILE_READ and tells_of(each.labels, question):
            read.setdefault(part_of[each.capture, each.file], []).append(each.labels)
    return {part: visible_sources(labels) for part, labels in read.items()}
