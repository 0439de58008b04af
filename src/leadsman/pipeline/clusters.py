"""Parts the files of a capture by the Kafka cluster that they are of: broker 1 of one is not broker 1 of another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leadsman.pipeline.streams import stream_of
from leadsman.words import count, in_cluster

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

NAMED = 5
"""Clusters that a note names: a folder can hold hundreds, each of which is an entry of its own."""

Told = tuple[str, str | None]
"""A file, and the cluster that it tells of. A file can be told of several times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What is diagnosed by itself: a whole capture, its files of one cluster, or those of no single cluster.

    `name` is the path where it is the whole, and what its events carry as their capture.
    """

    path: str
    name: str
    cluster: str | None
    files: AbstractSet[str]
    note: str = ""


def parts_of(path: str, told: Iterable[Told]) -> list[Part]:
    """Return the parts of a capture: one, unless its files tell of several clusters.

    A stream that tells of one cluster is of that one, and so is everything in a folder in which such streams are all
    of one. What remains is a part without a cluster: streams that tell of several, as MirrorMaker's do, and those that
    tell of none and lie in no such folder.
    """
    pairs = list(told)
    clusters = sorted({cluster for _, cluster in pairs if cluster})
    files = dict.fromkeys(file for file, _ in pairs)
    if len(clusters) <= 1:
        return [Part(path=path, name=path, cluster=next(iter(clusters), None), files=files.keys())]
    by_stream = _told_by_stream(pairs)
    owned: dict[str | None, set[str]] = {}
    for file, owner in _owners(files, by_stream).items():
        owned.setdefault(owner, set()).add(file)
    return list(_parts(path, clusters, owned, by_stream))


def _parts(
    path: str,
    clusters: Sequence[str],
    owned: Mapping[str | None, AbstractSet[str]],
    told: Mapping[str, AbstractSet[str]],
) -> Iterator[Part]:
    for cluster in clusters:
        if cluster in owned:
            yield Part(path=path, name=in_cluster(path, cluster), cluster=cluster, files=owned[cluster])
    if rest := owned.get(None):
        several = sum(stream_of(file) in told for file in rest)
        note = _note(clusters, silent=len(rest) - several, several=several)
        yield Part(
            path=path, name=in_cluster(path, None) if len(owned) > 1 else path, cluster=None, files=rest, note=note
        )


def _told_by_stream(pairs: Iterable[Told]) -> dict[str, set[str]]:
    told: dict[str, set[str]] = {}
    for file, cluster in pairs:
        if cluster:
            told.setdefault(stream_of(file), set()).add(cluster)
    return told


def _owners(files: Iterable[str], told: Mapping[str, AbstractSet[str]]) -> dict[str, str | None]:
    """Return the cluster of each file. What tells of several says nothing of the folder that it lies in."""
    clusters = {file: told.get(stream_of(file), frozenset()) for file in files}
    folders: dict[str, set[str]] = {}
    for file, of in clusters.items():
        if len(of) == 1:
            for folder in _folders_of(file):
                folders.setdefault(folder, set()).update(of)
    return {file: _only(of or _nearest(file, folders)) for file, of in clusters.items()}


def _nearest(file: str, folders: Mapping[str, AbstractSet[str]]) -> AbstractSet[str]:
    """Return the clusters of the nearest folder around a file in which anything tells of one."""
    return next((folders[folder] for folder in _folders_of(file) if folder in folders), frozenset())


def _folders_of(file: str) -> Iterator[str]:
    """Yield the folders that a file lies in, the innermost first."""
    while "/" in file:
        file = file.rpartition("/")[0]
        yield file
    yield ""


def _only(clusters: AbstractSet[str]) -> str | None:
    return next(iter(clusters)) if len(clusters) == 1 else None


def _note(clusters: Sequence[str], *, silent: int, several: int) -> str:
    """Say why these files are of no single cluster."""
    left_out = f" and {count(len(clusters) - NAMED)} more" if len(clusters) > NAMED else ""
    why = {
        f"{count(silent, 'file tells of none and lies|files tell of none and lie')} in no folder of one": silent,
        f"{count(several, 'file tells|files tell')} of several": several,
    }
    return (
        f"The capture tells of {count(len(clusters), 'cluster clusters')}: {', '.join(clusters[:NAMED])}{left_out}. "
        f"Here is what belongs to no single one: {', '.join(part for part, files in why.items() if files)}."
    )
