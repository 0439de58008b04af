"""Keeps the events of watched streams: appended to a Delta table, and the current ones in memory for the detectors."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from leadsman.pipeline.events import ARROW_SCHEMA
from leadsman.pipeline.scope.cluster_files import cluster_hints
from leadsman.pipeline.spark.packed_events import decompress
from leadsman.watch.retention import has_recent_times, kept_rows
from leadsman.watch.state import delta_tables
from leadsman.watch.stream_changes import FACTS, SUMMARY

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from pyspark.sql import Row

    from leadsman.pipeline.scope.clusters import ClusterHint, ClusterScope
    from leadsman.pipeline.scope.streams import CaptureFiles

TABLE_SCHEMA = pa.schema(
    [
        *ARROW_SCHEMA,
        ("stream", pa.string()),
        ("version", pa.int64()),
        ("number", pa.int64()),
        ("kind", pa.string()),
    ]
)
"""The event table with what decides whether an event is current: see `current_rows`."""

MAX_SILENT_WRITERS = 5_000
"""Writers of topics of whom settings are kept although their last line has expired: a client that works says little,
and no topic says that one has ended. Of a fleet of serverless workers, those that ended would be kept for ever, with
40 KB of memory each."""

NamesByFile = dict[str, set[str]]
"""The names of events that came or went, by file."""


@dataclass(frozen=True, slots=True)
class EventBatch:
    """The events of one kind of a stream in one query offset. `begun_in`: the one in which its reading began."""

    capture: str
    stream: str
    begun_in: int
    query_offset: int
    kind: str
    events: pa.Table


@dataclass(slots=True)
class StreamEvents:
    """The current events of one stream. Facts of the same query offset replace each other: a batch can be run again."""

    begun_in: int = 0
    facts: dict[int, pa.Table] = field(default_factory=dict)
    summary: tuple[int, pa.Table] = (0, ARROW_SCHEMA.empty_table())
    _fact_hints: set[ClusterHint] = field(default_factory=set)
    _summary_hints: set[ClusterHint] = field(default_factory=set)

    @property
    def hints(self) -> set[ClusterHint]:
        """The files of the current events, and the clusters that they name."""
        return self._fact_hints | self._summary_hints

    def apply(self, query_offset: int, changes: Iterable[EventBatch]) -> NamesByFile:
        """Take in all changes of a query offset. Returns the names of events that came or went, by file."""
        of_kind: dict[str, list[pa.Table]] = {FACTS: [], SUMMARY: []}
        new: NamesByFile = {}
        for each in changes:
            if each.begun_in > self.begun_in:
                self.begun_in = each.begun_in
                for dropped in self.facts.values():
                    _add_names(new, dropped)
                self.facts.clear()
                self._fact_hints.clear()
            if each.begun_in == self.begun_in:
                of_kind[each.kind].append(each.events)
        if of_kind[FACTS]:
            self.facts[query_offset] = pa.concat_tables(of_kind[FACTS])
            self._fact_hints |= cluster_hints(self.facts[query_offset])
            _add_names(new, self.facts[query_offset])
        if of_kind[SUMMARY] and query_offset >= self.summary[0]:
            replaced, self.summary = self.summary[1], (query_offset, pa.concat_tables(of_kind[SUMMARY]))
            self._summary_hints = cluster_hints(self.summary[1])
            for table in _changed_tables(replaced, self.summary[1]):
                _add_names(new, table)
        return new

    def expire(self, horizon: datetime) -> None:
        """Drop the events that ended before the horizon; keep the older facts in one table.

        The facts of the last query offset stay by themselves: its batch can be run again, and replaces them.
        """
        last = max(self.facts, default=0)
        older = [table for query_offset, table in self.facts.items() if query_offset != last]
        if older:
            newest = max(query_offset for query_offset in self.facts if query_offset != last)
            kept = kept_rows(pa.concat_tables(older), horizon).combine_chunks()
            self.facts = {newest: kept, last: self.facts[last]} if kept.num_rows else {last: self.facts[last]}
        self.summary = self.summary[0], kept_rows(self.summary[1], horizon)

    @property
    def last_query_offset(self) -> int:
        """The last query offset in which its events changed."""
        return max(self.summary[0], *self.facts, 0)

    @property
    def tables(self) -> list[pa.Table]:
        """The current events."""
        return [*self.facts.values(), self.summary[1]]


@dataclass(frozen=True, slots=True)
class ScopedCaptures:
    """Captures at one moment: scopes of theirs, and the events of these."""

    captures: Mapping[str, CaptureFiles]
    scopes: Sequence[ClusterScope]
    events: pa.Table

    def only(self, scopes: Sequence[ClusterScope]) -> ScopedCaptures:
        """Return some of the scopes, with their events."""
        if len(scopes) == len(self.scopes):
            return self
        paths = {scope.path for scope in scopes}
        captures = {path: each for path, each in self.captures.items() if path in paths}
        return ScopedCaptures(captures, scopes, _events_of(self.events, scopes))


class CurrentEvents:
    """The current events of all streams, in memory."""

    def __init__(self) -> None:
        self._streams: dict[tuple[str, str], StreamEvents] = {}
        self._new: dict[str, NamesByFile] = {}

    def apply(self, changes: Iterable[EventBatch]) -> None:
        """Take in the changes of one query offset or more."""
        grouped: dict[tuple[int, str, str], list[EventBatch]] = {}
        for each in changes:
            grouped.setdefault((each.query_offset, each.capture, each.stream), []).append(each)
        for (query_offset, capture, stream), members in sorted(grouped.items(), key=lambda item: item[0]):
            found = self._new.setdefault(capture, {})
            for file, names in (
                self._streams.setdefault((capture, stream), StreamEvents()).apply(query_offset, members).items()
            ):
                found.setdefault(file, set()).update(names)

    def count(self) -> int:
        """Return how many current events there are."""
        return sum(table.num_rows for each in self._streams.values() for table in each.tables)

    def take_new_names(self) -> dict[str, NamesByFile]:
        """Return the captures that changed since this was called last, with the names of events that came or went."""
        new, self._new = self._new, {}
        return new

    def hints(self, captures: Collection[str] | None = None) -> dict[str, set[ClusterHint]]:
        """Return the files of all captures, or of some, and the clusters that these name."""
        found: dict[str, set[ClusterHint]] = {}
        for (capture, _), each in self._streams.items():
            if captures is None or capture in captures:
                found.setdefault(capture, set()).update(each.hints)
        return found

    def table(self, captures: Collection[str] | None = None) -> pa.Table:
        """Return all current events, or those of some captures."""
        tables = [
            table
            for (capture, _), each in self._streams.items()
            if captures is None or capture in captures
            for table in each.tables
        ]
        return pa.concat_tables([ARROW_SCHEMA.empty_table(), *tables])

    def rows(self, names: Collection[str]) -> list[dict[str, Any]]:
        """Return the current events of some names, in which capture, when, of whom, and their labels."""
        selected = pa.array(list(names))
        tables = [table for each in self._streams.values() for table in each.tables if table.num_rows]
        found = [table.filter(pc.is_in(table.column("name"), value_set=selected)) for table in tables]
        return [
            row
            for table in found
            if table.num_rows
            for row in table.select(["capture", "at", "subject", "name", "labels"]).to_pylist()
        ]

    def expire(
        self,
        horizons: Mapping[str, datetime],
        deleted: Collection[tuple[str, str]] = (),
        writers: Collection[tuple[str, str]] = (),
    ) -> list[tuple[str, str]]:
        """Drop what ended before its capture's horizon. Returns the streams of which nothing is left.

        Where nothing newer is left of a stream, all of it is dropped if it is `deleted`, or of one of the `writers` of
        topics and not among the MAX_SILENT_WRITERS that wrote last.
        """
        dropped: list[tuple[str, str]] = []
        silent: list[tuple[str, str]] = []
        for key, each in self._streams.items():
            horizon = horizons.get(key[0])
            if horizon is None:
                continue
            each.expire(horizon)
            expired = dropped if key in deleted else silent if key in writers else None
            if expired is not None and not any(has_recent_times(table, horizon) for table in each.tables):
                expired.append(key)
        silent.sort(key=lambda key: self._streams[key].last_query_offset, reverse=True)
        dropped += silent[MAX_SILENT_WRITERS:]
        for key in dropped:
            del self._streams[key]
        return dropped

    def streams(self) -> list[tuple[str, str]]:
        """Return capture and name of each stream."""
        return list(self._streams)


def changes_of(rows: Iterable[Row | Mapping[str, Any]]) -> list[EventBatch]:
    """Return the changes in the rows of a batch of the query."""
    return [
        EventBatch(
            row["capture"],
            row["stream"],
            row["version"],
            row["number"],
            row["kind"],
            decompress(pa.py_buffer(bytes(row["events"]))) if row["count"] else ARROW_SCHEMA.empty_table(),
        )
        for row in rows
    ]


class EventTable:
    """The Delta table of events."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, changes: Iterable[EventBatch], *, query_id: str, batch_id: int) -> None:
        """Append the changes of one batch. A batch that was appended before is not appended again."""
        tables = [_with_columns(each) for each in changes if each.events.num_rows]
        if tables:
            delta_tables.append(
                self.path, pa.concat_tables(tables).cast(TABLE_SCHEMA), txn_app_id=query_id, txn_version=batch_id
            )

    def read(self) -> list[EventBatch]:
        """Return the current changes in the table; none where there is no table yet."""
        return changes_in(current_rows(delta_tables.read(self.path, TABLE_SCHEMA)))

    def expire(self, horizons: Mapping[str, datetime], dropped: Iterable[tuple[str, str]] = ()) -> None:
        """Write what is current and not expired into few files, in one transaction; remove the files it replaces.

        Nothing of `dropped` streams is left. No batch may be appended meanwhile: an overwrite replaces what was
        appended after it began to read.
        """
        if not delta_tables.exists(self.path):
            return
        rows = current_rows(delta_tables.read(self.path, TABLE_SCHEMA))
        is_dropped = pc.is_in(_stream_names(rows), value_set=pa.array(list(map("\0".join, dropped)), pa.string()))
        kept = rows.filter(pc.invert(is_dropped))
        parts = [TABLE_SCHEMA.empty_table()]
        for capture in map(str, kept.column("capture").unique().to_pylist()):
            of_capture = kept.filter(pc.equal(kept.column("capture"), pa.scalar(capture)))
            parts.append(kept_rows(of_capture, horizons[capture]) if capture in horizons else of_capture)
        delta_tables.replace(self.path, pa.concat_tables(parts))


def current_rows(rows: pa.Table) -> pa.Table:
    """Return the current rows of an event table: of each stream, those of its last version and its last summary.

    A table keeps what was current at any time. `version` is the query offset in which the reading of a stream
    began, or began again; `number` the one in which an event was found. The columns keep the names of older tables.
    """
    keys = rows.select(["version", "number"]).append_column("stream", _stream_names(rows))
    last = keys.group_by("stream").aggregate([("version", "max"), ("number", "max")])
    row_of_stream = pc.index_in(keys.column("stream"), value_set=last.column("stream"))
    is_last_reading = pc.equal(keys.column("version"), last.column("version_max").take(row_of_stream))
    is_last_offset = pc.equal(keys.column("number"), last.column("number_max").take(row_of_stream))
    is_fact = pc.equal(rows.column("kind"), pa.scalar(FACTS))
    return rows.filter(pc.and_(is_last_reading, pc.or_(is_fact, is_last_offset)))


def _stream_names(rows: pa.Table) -> pa.ChunkedArray[Any]:
    """Return the capture and the stream of each row as one text."""
    join: Any = pc.binary_join_element_wise  # its stubs do not know that the separator can be a text
    names: pa.ChunkedArray[Any] = join(rows.column("capture"), rows.column("stream"), "\0")
    return names


def _changed_tables(before: pa.Table, after: pa.Table) -> Iterator[pa.Table]:
    """Yield the events of the names whose events differ, before where none is left."""
    if not before.num_rows:
        yield after
        return
    names = {*before.column("name").unique().to_pylist(), *after.column("name").unique().to_pylist()}
    for name in map(str, names):
        earlier, later = (table.filter(pc.equal(table.column("name"), pa.scalar(name))) for table in (before, after))
        if not later.equals(earlier):
            yield later if later.num_rows else earlier


def _events_of(events: pa.Table, scopes: Iterable[ClusterScope]) -> pa.Table:
    """Return the events of some scopes: all of a capture that is one scope, or those of a scope's files."""
    kept: list[pa.Table] = [events.slice(0, 0)]
    for scope in scopes:
        of_capture = events.filter(pc.equal(events.column("capture"), pa.scalar(scope.path)))
        if scope.name != scope.path:
            files = pa.array(list(scope.files), pa.string())
            of_capture = of_capture.filter(pc.is_in(of_capture.column("file"), value_set=files))
        kept.append(of_capture)
    return pa.concat_tables(kept)


def _add_names(found: NamesByFile, events: pa.Table) -> None:
    files, names = (map(str, events.column(each).to_pylist()) for each in ("file", "name"))
    for file, name in set(zip(files, names, strict=True)):
        found.setdefault(file, set()).add(name)


def _with_columns(change: EventBatch) -> pa.Table:
    count = change.events.num_rows
    columns: Mapping[str, Any] = {
        "stream": pa.repeat(change.stream, count),
        "version": pa.repeat(pa.scalar(change.begun_in, pa.int64()), count),
        "number": pa.repeat(pa.scalar(change.query_offset, pa.int64()), count),
        "kind": pa.repeat(change.kind, count),
    }
    table = change.events
    for name, column in columns.items():
        table = table.append_column(name, column)
    return table


def changes_in(table: pa.Table) -> list[EventBatch]:
    """Return the changes in the rows of an event table."""
    columns = ["capture", "stream", "version", "number", "kind"]
    ordered = table.sort_by([(name, "ascending") for name in columns])
    keys = list(zip(*(ordered.column(name).to_pylist() for name in columns), strict=True))
    changes: list[EventBatch] = []
    first = 0
    for key, rows in groupby(keys):
        count = len(list(rows))
        capture, stream, begun_in, query_offset, kind = key
        events = ordered.slice(first, count).select(ARROW_SCHEMA.names)
        changes.append(EventBatch(capture, stream, begun_in, query_offset, kind, events))
        first += count
    return changes
