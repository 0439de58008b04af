"""Finds which files of a capture belong to which cluster, and gives the events of each cluster a capture of their own.

The facts about all files are collected by one query. Nothing else is done where each capture is of one cluster.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from leadsman import vocabulary as names
from leadsman.pipeline.events import text_table
from leadsman.pipeline.listing import covers_requested_time, visible_sources
from leadsman.pipeline.scope.clusters import ClusterHint, cluster_scopes
from leadsman.pipeline.spark.pyspark_startup import create_frame
from leadsman.telemetry.source import CLUSTER_ID

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from leadsman.pipeline.request import DiagnosisInput, DiagnosisRequest
    from leadsman.pipeline.scope.clusters import ClusterScope
    from leadsman.pipeline.scope.streams import CaptureFiles

FILE_EVENTS = (names.FILE_READ, names.FILE_NOT_UNDERSTOOD)
FACT_EVENTS = (*FILE_EVENTS, names.SETTING)
"""The names of all events that hold a fact about a file."""


class FileFact(NamedTuple):
    """A fact about a file: it was read, it could not be read, or it names a cluster."""

    capture: str
    file: str
    name: str
    labels: Mapping[str, str]

    @property
    def cluster(self) -> str | None:
        """The id of the cluster that the file names."""
        is_cluster_id = self.name == names.SETTING and self.labels["key"] == CLUSTER_ID["key"]
        return self.labels["value"] if is_cluster_id else None


def file_facts(events: DataFrame, inputs: DiagnosisInput) -> list[FileFact]:
    """Return the facts about each file."""
    if inputs.is_in_process:
        assert inputs.events is not None
        return _facts_in_process(inputs.events)
    is_cluster_id = (F.col("name") == names.SETTING) & (F.col("labels")["key"] == CLUSTER_ID["key"])
    facts = events.where(F.col("name").isin(*FILE_EVENTS) | is_cluster_id).select("capture", "file", "name", "labels")
    return [FileFact(*row) for row in facts.collect()]


def _facts_in_process(events: pa.Table) -> list[FileFact]:
    """Return the facts of events in this process."""
    captures, files, event, labels = (events.column(name) for name in ("capture", "file", "name", "labels"))
    return [
        FileFact(captures[row].as_py(), files[row].as_py(), event[row].as_py(), dict(labels[row].as_py()))
        for row in (*_places_of(event, FILE_EVENTS), *_cluster_id_rows(labels))
    ]


def _places_of(column: Any, texts: Sequence[str]) -> list[int]:  # noqa: ANN401 - an array, chunked or not
    """Return where a column holds one of these texts. `pc.equal` and `to_numpy` load pandas, which takes a second."""
    searched = text_table({"text": texts}).column("text")
    places: list[Any] = pc.indices_nonzero(pc.is_in(column, value_set=searched)).to_pylist()
    return places


def cluster_hints(events: pa.Table) -> set[ClusterHint]:
    """Return the files that events of one capture are of, and the clusters that these files name."""
    return {(each.file, each.cluster) for each in _facts_in_process(events)}


def _cluster_id_rows(labels: pa.ChunkedArray[Any]) -> Iterator[int]:
    """Yield the rows whose labels hold the key of a cluster's id."""
    rows_before = 0
    chunk: Any  # Arrow's type stubs lack map arrays
    for chunk in labels.chunks:
        starts = chunk.offsets.to_pylist()
        first = starts[0]  # a slice has the items of its whole array
        texts = chunk.items.slice(first, starts[-1] - first)
        for position in _places_of(texts, (CLUSTER_ID["key"],)):
            yield rows_before + bisect_right(starts, first + position) - 1
        rows_before += len(chunk)


def cluster_scopes_of_input(inputs: DiagnosisInput, files: Sequence[FileFact]) -> list[ClusterScope]:
    """Return the scopes to diagnose, capture by capture: those that the input names, or else those of its files."""
    if inputs.scopes is not None:
        return [scope for scope in inputs.scopes if scope.path in inputs.captures]
    hints: dict[str, list[ClusterHint]] = {path: [] for path in inputs.captures}
    for each in files:
        hints[each.capture].append((each.file, each.cluster))
    return scopes_of_captures(inputs.captures, hints)


def scopes_of_captures(
    captures: Mapping[str, CaptureFiles], hints: Mapping[str, Collection[ClusterHint]]
) -> list[ClusterScope]:
    """Return the scopes of captures, by the hints of the files that were read."""
    return [
        scope
        for path, found in captures.items()
        for scope in cluster_scopes(path, [*hints.get(path, ()), *((each.file, None) for each in found.skipped)])
    ]


def has_several_clusters(scopes: Sequence[ClusterScope]) -> bool:
    """Whether any capture is more than one scope."""
    return any(scope.name != scope.path for scope in scopes)


def split_by_cluster(events: DataFrame, scopes: Sequence[ClusterScope]) -> DataFrame:
    """Return the events with the name of their scope as their capture."""
    if not has_several_clusters(scopes):
        return events
    rows = [(scope.path, file, scope.name) for scope in scopes if scope.name != scope.path for file in scope.files]
    columns = dict(zip(("capture", "file", "scope"), zip(*rows, strict=True), strict=True))
    scope_of_file = create_frame(events.sparkSession, text_table(columns))
    joined = events.join(F.broadcast(scope_of_file), ["capture", "file"], "left")
    return joined.withColumn("capture", F.coalesce("scope", "capture")).select(*events.columns)


def sources_by_scope(
    files: Sequence[FileFact], scopes: Sequence[ClusterScope], request: DiagnosisRequest
) -> dict[str, set[str]]:
    """Return the sources whose symptoms each scope could show, in the requested time."""
    scope_of = {(scope.path, file): scope.name for scope in scopes for file in scope.files}
    read: dict[str, list[Mapping[str, str]]] = {}
    for each in files:
        if each.name == names.FILE_READ and covers_requested_time(each.labels, request):
            read.setdefault(scope_of[each.capture, each.file], []).append(each.labels)
    return {scope: visible_sources(labels) for scope, labels in read.items()}
