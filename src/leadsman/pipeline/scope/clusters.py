"""Splits the files of a capture by Kafka cluster: broker 1 of one cluster is not broker 1 of another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leadsman.pipeline.scope.streams import stream_name
from leadsman.words import count, label_with_cluster

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

CLUSTERS_NAMED = 5
"""Clusters that a note names: a folder can hold hundreds, each of which has a diagnosis of its own."""

ClusterHint = tuple[str, str | None]
"""A file, and the id of a cluster that the file names, or None. A file can have several hints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterScope:
    """The scope of one diagnosis: a whole capture, its files of one cluster, or its files of no single cluster.

    `name` is the `capture` column of the scope's events: the path, where the scope is the whole capture.
    """

    path: str
    name: str
    cluster: str | None
    files: AbstractSet[str]
    note: str = ""


def cluster_scopes(path: str, hints: Iterable[ClusterHint]) -> list[ClusterScope]:
    """Return the scopes of a capture: one, unless its files name several clusters.

    A stream that names one cluster belongs to that cluster, and so do all files in a folder whose streams name that
    cluster alone. The other streams form a scope without a cluster: streams that name several, as MirrorMaker's do, and
    streams that name none and are in no such folder.
    """
    pairs = list(hints)
    clusters = sorted({cluster for _, cluster in pairs if cluster})
    files = frozenset(file for file, _ in pairs)
    if len(clusters) <= 1:
        return [ClusterScope(path=path, name=path, cluster=next(iter(clusters), None), files=files)]
    clusters_of_stream = _clusters_by_stream(pairs)
    by_cluster: dict[str | None, set[str]] = {}
    for file, cluster in _cluster_of_each(files, clusters_of_stream).items():
        by_cluster.setdefault(cluster, set()).add(file)
    return list(_scopes(path, clusters, by_cluster, clusters_of_stream))


def _scopes(
    path: str,
    clusters: Sequence[str],
    by_cluster: Mapping[str | None, AbstractSet[str]],
    clusters_of_stream: Mapping[str, AbstractSet[str]],
) -> Iterator[ClusterScope]:
    for cluster in clusters:
        if cluster in by_cluster:
            yield ClusterScope(
                path=path, name=label_with_cluster(path, cluster), cluster=cluster, files=by_cluster[cluster]
            )
    if others := by_cluster.get(None):
        several = sum(stream_name(file) in clusters_of_stream for file in others)
        note = _note(clusters, none=len(others) - several, several=several)
        yield ClusterScope(
            path=path,
            name=label_with_cluster(path, None) if len(by_cluster) > 1 else path,
            cluster=None,
            files=others,
            note=note,
        )


def _clusters_by_stream(hints: Iterable[ClusterHint]) -> dict[str, set[str]]:
    by_stream: dict[str, set[str]] = {}
    for file, cluster in hints:
        if cluster:
            by_stream.setdefault(stream_name(file), set()).add(cluster)
    return by_stream


def _cluster_of_each(files: Iterable[str], clusters_of_stream: Mapping[str, AbstractSet[str]]) -> dict[str, str | None]:
    """Return the cluster of each file. A stream that names several clusters does not count for its folder."""
    clusters = {file: clusters_of_stream.get(stream_name(file), frozenset()) for file in files}
    folders: dict[str, set[str]] = {}
    for file, named in clusters.items():
        if len(named) == 1:
            for folder in _folders_of(file):
                folders.setdefault(folder, set()).update(named)
    return {file: _single(named or _nearest(file, folders)) for file, named in clusters.items()}


def _nearest(file: str, folders: Mapping[str, AbstractSet[str]]) -> AbstractSet[str]:
    """Return the clusters of the nearest folder around a file that has any."""
    return next((folders[folder] for folder in _folders_of(file) if folder in folders), frozenset())


def _folders_of(file: str) -> Iterator[str]:
    """Yield the folders that contain a file, the innermost first."""
    while "/" in file:
        file = file.rpartition("/")[0]
        yield file
    yield ""


def _single(clusters: AbstractSet[str]) -> str | None:
    return next(iter(clusters)) if len(clusters) == 1 else None


def _note(clusters: Sequence[str], *, none: int, several: int) -> str:
    """Say why files belong to no single cluster. `none` and `several`: how many name no cluster, and several."""
    more = f" and {count(len(clusters) - CLUSTERS_NAMED)} more" if len(clusters) > CLUSTERS_NAMED else ""
    why = {
        f"{count(none, 'file names none and lies|files name none and lie')} in no folder of a single cluster": none,
        f"{count(several, 'file names|files name')} several": several,
    }
    return (
        f"The capture names {count(len(clusters), 'cluster clusters')}: {', '.join(clusters[:CLUSTERS_NAMED])}{more}. "
        f"This part belongs to no single cluster: {', '.join(reason for reason, files in why.items() if files)}."
    )
