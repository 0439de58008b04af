"""Lists the copies of objects as files of their captures, for the streaming query."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.capture import LONGEST_MANIFEST, MANIFEST, SCHEMA
from leadsman.pipeline.scope.remote_files import captures_at
from leadsman.pipeline.scope.streams import File
from leadsman.watch.file_listing import MAX_TRIGGER_BYTES
from leadsman.watch.objects.stored_objects import ObjectCatalog
from leadsman.watch.positions import OBJECT_KEY, FilePosition, StreamPosition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from leadsman.pipeline.scope.streams import Stream
    from leadsman.watch.objects.stored_objects import StoredObject
    from leadsman.watch.positions import Positions


@dataclass(slots=True)
class ObjectListing:
    """The objects in some folders of copies. They never grow: each is read whole, in the trigger that takes it."""

    folders: Sequence[str]
    max_bytes: int = MAX_TRIGGER_BYTES
    _catalogs: dict[str, ObjectCatalog] = field(default_factory=dict)
    _taken: dict[str, int] = field(default_factory=dict)
    """By folder, up to where the catalog was read when all its objects were taken: until it grows nothing is new."""

    def positions(self, earlier: Positions, query_offset: int) -> Positions:
        """Return the positions of a query offset, after `earlier`, with new objects up to a trigger's bytes."""
        positions = dict(earlier)
        for folder in self.folders:
            catalog = self._catalogs.setdefault(folder, ObjectCatalog(Path(folder)))
            objects = catalog.objects()
            if self._taken.get(folder) == catalog.bytes_read:
                continue
            there = [each for each in objects.values() if catalog.path(each.number).exists()]
            known = {file.key for each in earlier.values() if isinstance(each, StreamPosition) for file in each.files}
            taken = list(_within(there, known, self.max_bytes, folder=folder))
            if len(taken) == len(there):
                self._taken[folder] = catalog.bytes_read
            for stream, files in _streams(taken, catalog):
                now = StreamPosition(stream.capture, stream.name, files, query_offset)
                previous = earlier.get(now.key)
                if not isinstance(previous, StreamPosition) or not now.is_as_far_as(previous):
                    positions[now.key] = now
        return positions


def key_of(folder: str, each: StoredObject) -> str:
    """Return the key by which positions know a copy: what identifies the object, and the copy's number."""
    digest = blake2b("\0".join(each.key).encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
    return f"{OBJECT_KEY}{Path(folder).name}:{digest}:{each.number}"


def _within(objects: Iterable[StoredObject], known: set[str], max_bytes: int, *, folder: str) -> Iterator[StoredObject]:
    """Yield the objects that were read before, and of new ones the oldest, one at least, up to so many bytes."""
    left = max_bytes
    for each in sorted(objects, key=lambda each: (each.changed_us, each.name)):
        is_known = key_of(folder, each) in known
        if is_known or left > 0:
            yield each
        left -= 0 if is_known else each.size


def _streams(
    objects: Iterable[StoredObject], catalog: ObjectCatalog
) -> Iterator[tuple[Stream, tuple[FilePosition, ...]]]:
    by_root: dict[str, list[StoredObject]] = {}
    for each in objects:
        by_root.setdefault(each.root, []).append(each)
    for root, members in by_root.items():
        object_of_copy = {str(catalog.path(each.number)): each for each in members}
        files = [_file(each, path) for path, each in object_of_copy.items()]
        for found in captures_at(root, files, _manifests(files)).values():
            for stream in found.streams:
                yield stream, tuple(_position(file, object_of_copy[file.path], catalog) for file in stream.files)


def _file(each: StoredObject, path: str) -> File:
    return File(path, each.name, each.size, datetime.fromtimestamp(each.changed_us / 1e6, UTC))


def _position(file: File, each: StoredObject, catalog: ObjectCatalog) -> FilePosition:
    key = key_of(str(catalog.folder), each)
    return FilePosition(file.path, file.name, key, each.size, each.size, each.changed_us)


def _manifests(files: Sequence[File]) -> Mapping[str, str]:
    """Return the texts of the captures' manifests by path. Other programs use the same file name too."""
    candidates = [each for each in files if each.name.rpartition("/")[2] == MANIFEST and each.bytes <= LONGEST_MANIFEST]
    texts = {each.path: Path(each.path).read_text("utf-8", "replace") for each in candidates}
    return {path: text for path, text in texts.items() if SCHEMA in text}
