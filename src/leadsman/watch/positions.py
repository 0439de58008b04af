"""How far each file and each partition of a topic was read: the offsets of the streaming query, one JSON file for each.

Spark's own offset log keeps only the number of such a file. With 10,000 files the positions are a megabyte, and Spark
would parse and log them several times in each trigger.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from leadsman.errors import StateError
from leadsman.pipeline.read.growing import FileRange
from leadsman.pipeline.scope.streams import File, Stream

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SCHEMA = "leadsman.positions/1"

OBJECT_KEY = "object:"
"""Begins the keys of copies of objects, which end with the number of the copy."""


@dataclass(frozen=True, slots=True)
class FilePosition:
    """A file as far as it is read: up to the byte `end`. `key` identifies it through rename, copy and compression.

    `size` is the file's size and `changed_us` its modification time (microseconds since 1970) when it was looked at;
    `identity` what the file system called it, and `edges` a digest of the first and last bytes before `read_to`. Behind
    the last newline are `half_line` bytes that may be half a line: they are read, and read again when it is whole.
    """

    path: str
    name: str
    key: str
    end: int
    size: int
    changed_us: int
    identity: str = ""
    edges: str = ""
    half_line: int = 0

    @property
    def read_to(self) -> int:
        """The offset behind all that is read, half a line included."""
        return self.end + self.half_line

    @property
    def inode(self) -> str:
        """What the file system called it."""
        return self.identity or self.key.rpartition(":")[0]

    @property
    def file(self) -> File:
        """The file as far as it is read."""
        changed = datetime.fromtimestamp(self.changed_us / 1e6, UTC)
        return File(self.path, self.name, self.read_to, changed)

    @property
    def range(self) -> FileRange:
        """The same, for the reader."""
        return FileRange(self.file, self.key, self.half_line)


@dataclass(frozen=True, slots=True)
class SourcePosition:
    """How far one source of a capture is read. `name` is that of a stream of files, a topic or a server of metrics."""

    capture: str
    name: str

    @property
    def key(self) -> tuple[str, str]:
        """What identifies the source among all that is watched."""
        return self.capture, self.name

    @property
    def stream(self) -> Stream:
        """The source as a stream, without files where it has none."""
        return Stream(self.capture, self.name, ())


@dataclass(frozen=True, slots=True)
class StreamPosition(SourcePosition):
    """The files of one stream. `changed_in` is the query offset in which something was appended last.

    `copy_of` is the name of another file that has the same content; the stream is not read as long as it is a copy.
    """

    files: tuple[FilePosition, ...]
    changed_in: int
    copy_of: str = ""

    @property
    def stream(self) -> Stream:
        """The stream as far as it is read."""
        return Stream(self.capture, self.name, tuple(each.file for each in self.files))

    def is_as_far_as(self, earlier: StreamPosition) -> bool:
        """Whether nothing was appended since, no file was renamed or came or went, and none became a copy."""
        return self.copy_of == earlier.copy_of and list(map(_reach, self.files)) == list(map(_reach, earlier.files))

    def in_offset(self, query_offset: int) -> StreamPosition:
        """Return the same position, reached in another query offset."""
        return replace(self, changed_in=query_offset)


@dataclass(frozen=True, slots=True)
class PartitionPosition:
    """A partition of a topic: in the query offset in which it changed, it is read from `begin` to before `end`.

    `number` is the partition's. `lost` counts the offsets that were deleted before anybody read them, since the start
    of the watch. `is_behind`: there were more records behind `end`.
    """

    number: int
    begin: int
    end: int
    lost: int = 0
    is_behind: bool = False


@dataclass(frozen=True, slots=True)
class TopicPosition(SourcePosition):
    """A Kafka topic: how far each of its partitions is read. `id` changes where the topic is deleted and made again.

    `partitions` are all that were ever seen, those that changed in the query offset `changed_in` and the others.
    """

    id: str
    partitions: tuple[PartitionPosition, ...]
    changed_in: int


@dataclass(frozen=True, slots=True)
class SeriesPosition(SourcePosition):
    """A server of metrics: its samples from `since` to `until` (s since 1970) are read in the offset `changed_in`."""

    since: int
    until: int
    changed_in: int


Position = StreamPosition | TopicPosition | SeriesPosition
Positions = dict[tuple[str, str], Position]


AnyPosition = TypeVar("AnyPosition", bound=SourcePosition)


@dataclass(frozen=True, slots=True)
class PositionChange(Generic[AnyPosition]):
    """A source in which something was appended: its position after that."""

    position: AnyPosition

    @property
    def capture(self) -> str:
        """The capture that it is of."""
        return self.position.capture

    @property
    def name(self) -> str:
        """The name of the stream, the topic or the server."""
        return self.position.name


class PositionFiles:
    """The folder of positions, one file for each query offset."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, query_offset: int, positions: Mapping[tuple[str, str], Position]) -> None:
        """Write the positions of a query offset, whole or not at all."""
        self._folder.mkdir(parents=True, exist_ok=True)
        streams = [_stream_fields(each) for each in positions.values() if isinstance(each, StreamPosition)]
        topics = [asdict(each) for each in positions.values() if isinstance(each, TopicPosition)]
        series = [asdict(each) for each in positions.values() if isinstance(each, SeriesPosition)]
        document = {"schema": SCHEMA, "streams": streams, "topics": topics, "series": series}
        part = self._folder / f".{query_offset}.{os.getpid()}"
        part.write_text(json.dumps(document), encoding="utf-8")
        part.replace(self._path(query_offset))

    def read(self, query_offset: int) -> Positions:
        """Return the positions of a query offset; none for query offset 0, before the first line."""
        if query_offset == 0:
            return {}
        path = self._path(query_offset)
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise StateError(
                f"The positions in {path} cannot be read: {error}. Start with another --to folder."
            ) from error
        if document.get("schema") != SCHEMA:
            raise StateError(f"{path} has the schema {document.get('schema')!r}; this version reads {SCHEMA}.")
        streams = map(_stream_position, document["streams"])
        topics = map(_topic_position, document.get("topics", ()))
        series = (SeriesPosition(**each) for each in document.get("series", ()))
        read: tuple[Position, ...] = (*streams, *topics, *series)
        return {each.key: each for each in read}

    def remove_before(self, query_offset: int) -> None:
        """Remove the positions of query offsets that no restart needs."""
        for path in self._folder.glob("*.json"):
            if path.stem.isdigit() and int(path.stem) < query_offset:
                path.unlink(missing_ok=True)

    def _path(self, query_offset: int) -> Path:
        return self._folder / f"{query_offset}.json"


def _reach(file: FilePosition) -> tuple[str, str, int, int]:
    return file.key, file.name, file.end, file.half_line


FILE_FIELDS = tuple(each.name for each in fields(FilePosition))


def _stream_fields(position: StreamPosition) -> dict[str, Any]:
    """Return what `asdict` returns, in a quarter of its time: there can be ten thousand in each trigger."""
    files = [{name: getattr(file, name) for name in FILE_FIELDS} for file in position.files]
    return {
        "capture": position.capture,
        "name": position.name,
        "files": files,
        "changed_in": position.changed_in,
        "copy_of": position.copy_of,
    }


def _stream_position(document: dict[str, Any]) -> StreamPosition:
    files = tuple(FilePosition(**each) for each in document["files"])
    return StreamPosition(**{**document, "files": files})


def _topic_position(document: dict[str, Any]) -> TopicPosition:
    partitions = tuple(PartitionPosition(**each) for each in document["partitions"])
    return TopicPosition(document["capture"], document["name"], document["id"], partitions, document["changed_in"])
