"""Reads what was appended to a stream between two query offsets, in a task: its new events, and its summary."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from leadsman.pipeline.events import batches
from leadsman.pipeline.read.blocks import is_plain
from leadsman.pipeline.read.growing import FileRange, GrowingStream, NotGrowing
from leadsman.pipeline.read.stream import in_order, not_understood_event, read
from leadsman.pipeline.spark.packed_events import pack
from leadsman.watch.positions import OBJECT_KEY, PositionChange, StreamPosition
from leadsman.watch.stream_states import StreamStates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo

LOG = logging.getLogger(__name__)

FACTS, SUMMARY = "facts", "summary"
"""Events that no further line changes; and those that the summary of a later query offset replaces."""

CHANGES = pa.schema(
    [  # type: ignore[arg-type]  # the stubs do not know that pairs do
        ("stream", pa.string()),
        ("version", pa.int64()),
        ("number", pa.int64()),
        ("kind", pa.string()),
        ("capture", pa.string()),
        ("count", pa.int64()),
        ("events", pa.binary()),
    ],
)
CHANGES_DDL = "stream string, version long, number long, kind string, capture string, count long, events binary"
"""`number` is the query offset in which events were found, `version` the one in which the reading of their stream
began, or began again. The columns keep these names: the tables of earlier watches have them."""


@dataclass(frozen=True, slots=True)
class StreamChange(PositionChange[StreamPosition]):
    """A stream that has changed: its position in a query offset, and the offset in which it had changed before."""

    query_offset: int
    previous_offset: int

    @property
    def bytes(self) -> int:
        """The size of the files; more than what is read where lines were appended."""
        return sum(each.read_to for each in self.position.files)


class FileGone(Exception):
    """A file cannot be read that was listed a moment ago: it was renamed or deleted, or its disk fails."""


def read_change(change: StreamChange, folder: Path, zone: tzinfo) -> Iterator[pa.RecordBatch]:
    """Yield the packed events of a stream's change. A stream that is no growing log is read as a whole.

    Where a file is gone the stream stays as it was: the next listing has the file's new name, or leaves it out.
    """
    states = StreamStates(folder)
    position, query_offset = change.position, change.query_offset
    if position.copy_of:
        yield from ChangedEvents(position.capture, position.name, query_offset, query_offset).packed(
            SUMMARY, _not_read(position)
        )
        return
    try:
        grown = _grown(change, states, zone)
    except FileGone:
        if state := states.load(position.key, change.previous_offset) if change.previous_offset else None:
            states.save(position.key, query_offset, state, made_from=change.previous_offset)
        return
    if grown is None:
        stream = ChangedEvents(position.capture, position.name, query_offset, query_offset)
        yield from stream.packed(SUMMARY, list(batches(read(position.stream, zone))))
        return
    state, facts, summary = grown
    states.save(position.key, query_offset, state, made_from=change.previous_offset)
    stream = ChangedEvents(position.capture, position.name, query_offset, state.version)
    yield from stream.packed(FACTS, facts)
    yield from stream.packed(SUMMARY, summary)


def _grown(
    change: StreamChange, states: StreamStates, zone: tzinfo
) -> tuple[GrowingStream, list[pa.RecordBatch], list[pa.RecordBatch]] | None:
    """Return the state of a growing log after a change, its new events, and its summary; None where it is none.

    Whatever a parser raises is an error of its file: reading as a whole says so of the file, and reads the others.
    """
    position = change.position
    state: GrowingStream | None = states.load(position.key, change.previous_offset) if change.previous_offset else None
    try:
        for begun in (state, GrowingStream.begin(position.stream, change.query_offset)):
            if begun is None or (begun is state and _has_rewritten_file(position, begun)):
                continue
            with suppress(NotGrowing):
                facts = list(batches(begun.read(_in_order(position, zone), zone)))
                return begun, facts, list(batches(begun.summary()))
    except OSError as error:
        raise FileGone from error
    except Exception:
        LOG.debug("%s is read as a whole", position.name, exc_info=True)
    return None


def _not_read(position: StreamPosition) -> list[pa.RecordBatch]:
    """Return the events that say why copies are not read. They replace all events of the stream."""
    why = f"it holds the content of {position.copy_of}, which was read once"
    return list(batches(not_understood_event(position.capture, each, why) for each in position.stream.files))


def _has_rewritten_file(position: StreamPosition, state: GrowingStream) -> bool:
    """Whether an object or an archive that was read has other content now. Of another file both were written."""
    read = {*state.finished, *([state.current.key] if state.current else [])}
    sources = {_source(key) for key in read}
    return any(
        each.key not in read and _source(each.key) in sources
        for each in position.files
        if each.key.startswith(OBJECT_KEY) or not is_plain(each.path)
    )


def _source(key: str) -> str:
    """Return the key of a file without the number of its version."""
    return key.rpartition(":")[0]


def _in_order(position: StreamPosition, zone: tzinfo) -> list[FileRange]:
    """Return the files in the order in which they were written. Raises NotGrowing where a file is no log."""
    ranges = {each.path: each.range for each in position.files}
    if len(ranges) == 1:
        return list(ranges.values())
    ordered: list[FileRange] = []
    empty: list[FileRange] = []
    for file, form in in_order(position.stream.files, zone):
        if not Path(file.path).exists():
            raise FileNotFoundError(file.path)
        if not file.bytes:
            empty.append(ranges[file.path])
        elif form is None or isinstance(form, str):
            raise NotGrowing
        else:
            ordered.append(ranges[file.path])
    return [*ordered, *empty]


@dataclass(frozen=True, slots=True)
class ChangedEvents:
    """The events of one stream in a query offset. `begun_in` is the query offset in which its reading began."""

    capture: str
    stream: str
    query_offset: int
    begun_in: int

    def packed(self, kind: str, events: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the events of a kind as rows of CHANGES. A summary without events replaces the one before it."""
        packed = [row for batch in pack(events) for row in batch.to_pylist()]
        if not packed and kind == SUMMARY:
            packed = [{"capture": self.capture, "count": 0, "events": b""}]
        rows = [
            {"stream": self.stream, "version": self.begun_in, "number": self.query_offset, "kind": kind, **row}
            for row in packed
        ]
        if rows:
            yield pa.RecordBatch.from_pylist(rows, schema=CHANGES)
