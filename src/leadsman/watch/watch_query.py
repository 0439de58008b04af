"""Runs the streaming query of a watch, keeps the events that it reads, and diagnoses them."""

from __future__ import annotations

import json
import logging
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from leadsman.errors import SparkError, StateError
from leadsman.pipeline.diagnose import diagnose
from leadsman.pipeline.request import DiagnosisInput, find_input
from leadsman.pipeline.scope.cluster_files import scopes_of_captures
from leadsman.pipeline.scope.copies import LocalFileMeasures, drop_duplicate_files
from leadsman.pipeline.scope.streams import CaptureFiles
from leadsman.pipeline.spark.executors import is_connect, summarize_error
from leadsman.pipeline.spark.session import is_usable
from leadsman.watch import zipped_source
from leadsman.watch.connect_batches import BatchFiles, batch_writer
from leadsman.watch.event_store import CurrentEvents, EventTable, ScopedCaptures, changes_of
from leadsman.watch.expired_streams import ExpiredStreams, streams_without_files, topic_of
from leadsman.watch.live.notices import SHOWN, notices_of
from leadsman.watch.replay import ReplayListing
from leadsman.watch.source import NAME, OPTION, SourceRequests, WatchRequest, WatchSource
from leadsman.watch.where_tasks_run import has_package, require_shared_folder

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime, tzinfo

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from leadsman.model import Diagnosis
    from leadsman.pipeline.request import DiagnosisRequest
    from leadsman.watch.event_store import EventBatch, NamesByFile
    from leadsman.watch.live.notices import Notice
    from leadsman.watch.positions import Positions
    from leadsman.watch.source import Listing

LOG = logging.getLogger(__name__)

POLL_SECONDS = 0.2

STREAMING_CONF = {
    # Without it Spark looks for a file system of Hadoop that renames without a checksum file, and warns.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.metricsEnabled": "false",
}


@dataclass(frozen=True, slots=True)
class WatchQueryOptions:
    """How the query runs: the folder of the state, seconds between two triggers, and the detectors' request."""

    folder: Path
    zone: tzinfo
    interval_seconds: float
    tasks: int


class WatchQuery:
    """The streaming query of a watch, the current events that it has read, and diagnoses of them."""

    def __init__(
        self, spark: SparkSession, listing: Listing, options: WatchQueryOptions, sources: SourceRequests | None = None
    ) -> None:
        self.spark = spark
        self._listing = listing
        self._options = options
        self._table = EventTable(options.folder.resolve() / "events")
        self._batches = BatchFiles(options.folder.resolve() / "batches")
        self._is_connect = is_connect(spark)
        self._events = CurrentEvents()
        self._lock = threading.Lock()
        self._table_lock = threading.Lock()  # taken before the other one; a diagnosis never waits for it
        self._changed = threading.Event()
        self._dropped: set[tuple[str, str]] = set()
        self._known_positions: tuple[int, Positions] = (0, {})
        self._expired_streams = ExpiredStreams(options.folder.resolve())
        self._request = WatchRequest(
            listing, str(options.folder.resolve()), options.zone, options.tasks, sources or SourceRequests()
        )
        self.captures: Mapping[str, CaptureFiles] = {}
        self.horizons: Mapping[str, datetime] = {}
        self.notices: tuple[Notice, ...] = ()
        self.last_query_offset = 0
        self.batches = 0
        self.batch_seconds_total = 0.0

    @property
    def folder(self) -> Path:
        """The folder of the state."""
        return self._options.folder

    @contextmanager
    def running(self) -> Iterator[StreamingQuery]:
        """Start the query, and stop it at the end of the block."""
        self._options.folder.mkdir(parents=True, exist_ok=True)
        require_shared_folder(self.spark, self._options.folder.resolve())
        changes = self._table.read()
        self._events.apply(changes)
        self._update_notices(changes)
        self.last_query_offset = self._last_read_offset(max((each.query_offset for each in changes), default=0))
        self.take_batches()
        query = self._started()
        try:
            yield query
        finally:
            if is_usable(self.spark):
                query.stop()

    def _started(self) -> StreamingQuery:
        """Start the query. Raises SparkError where Spark cannot."""
        writer = batch_writer(self._batches) if self._is_connect else self._append
        try:
            stream = self._read_stream().writeStream.foreachBatch(writer)
            stream = stream.option("checkpointLocation", str(self._checkpoint))
            return stream.trigger(processingTime=f"{self._options.interval_seconds} seconds").start()
        except PySparkException as error:
            raise SparkError(
                f"The streaming query did not start: {summarize_error(error)}{self._hint(error)}"
            ) from error

    def _hint(self, error: Exception) -> str:
        if not self._is_connect or "ModuleNotFoundError" not in str(error):
            return ""
        packages = "NumPy, PyArrow, and for topics confluent-kafka and opentelemetry-proto"
        return f". The server lists what is there in its own Python, which needs {packages}; --executors is for tasks."

    def _read_stream(self) -> DataFrame:
        """Return the frame of changes that the query reads."""
        if not has_package(self.spark):
            package = str(zipped_source.register(self.spark, self._options.folder.resolve()))
            reader = self.spark.readStream.format(zipped_source.NAME).option(zipped_source.PACKAGE, package)
        else:
            self.spark.dataSource.register(WatchSource)
            reader = self.spark.readStream.format(NAME)
        return reader.option(OPTION, self._request.encode()).load()

    def _last_read_offset(self, query_offset: int) -> int:
        """Return the query offset to which an earlier watch had read: the first file of positions from this one on."""
        if not query_offset:
            return 0
        files = Path(self._options.folder, "positions").glob("[0-9]*.json")
        return min((each for file in files if (each := int(file.stem)) >= query_offset), default=0)

    def _append(self, batch: DataFrame, batch_id: int) -> None:
        began = time.monotonic()
        self._take(changes_of(batch.collect()), batch_id)
        self.batch_seconds_total += time.monotonic() - began

    def take_batches(self) -> None:
        """Take the batches that a Spark Connect server has written. A session without one has none."""
        for batch_id in self._batches.waiting():
            began = time.monotonic()
            self._take(changes_of(self._batches.read(batch_id)), batch_id)
            self._batches.remove(batch_id)
            self.batch_seconds_total += time.monotonic() - began

    def _take(self, changes: Sequence[EventBatch], batch_id: int) -> None:
        with self._table_lock:
            self._table.append(changes, query_id=self._query_id(), batch_id=batch_id)
            self._dropped.difference_update((each.capture, each.stream) for each in changes)  # a name can come back
            with self._lock:
                self._events.apply(changes)
                self._update_notices(changes)
                self.last_query_offset = max([self.last_query_offset, *(each.query_offset for each in changes)])
        self.batches += 1
        self._changed.set()

    def wake(self) -> None:
        """End the wait for changes: there is something else to do."""
        self._changed.set()

    def wait_for_changes(self, seconds: float) -> None:
        """Wait until a batch is written, so long at most."""
        until = time.monotonic() + seconds
        while not self._changed.wait(POLL_SECONDS if self._is_connect else seconds) and time.monotonic() < until:
            self.take_batches()
        self._changed.clear()

    def _update_notices(self, changes: Iterable[EventBatch]) -> None:
        """Take in alerts and maintenance, where these changes have any: all events are looked through then."""
        if any(name in SHOWN for each in changes for name in each.events.column("name").unique().to_pylist()):
            self.notices = notices_of(self._events.rows(SHOWN))

    def _query_id(self) -> str:
        """Return the id of the query, which stays the same after a restart."""
        return str(json.loads(Path(self._checkpoint, "metadata").read_text(encoding="utf-8"))["id"])

    @property
    def _checkpoint(self) -> Path:
        return self._options.folder.resolve() / "checkpoint"

    def wait_for_end(self, query: StreamingQuery) -> None:
        """Wait until a replay is over. Raises SparkError where the query fails."""
        while self.is_running(query) and not self.is_at_end():
            time.sleep(POLL_SECONDS)
            self.take_batches()

    def is_running(self, query: StreamingQuery) -> bool:
        """Return True; raise SparkError where the query has failed."""
        try:
            if query.isActive:
                return True
            error = query.exception() or Exception("stopped")
        except PySparkException as gone:
            if is_usable(self.spark):
                raise SparkError(f"The streaming query cannot be asked: {summarize_error(gone)}") from gone
            raise SparkError(
                "The Spark Connect server does not answer any more. Started again with the same --to folder, the watch "
                "goes on where it was."
            ) from gone
        raise SparkError(f"The streaming query ended: {summarize_error(error)}{self._hint(error)}")

    def is_at_end(self) -> bool:
        """Whether a replay is over: all lines are revealed, and their events are here."""
        if not isinstance(self._listing, ReplayListing) or not self.last_query_offset:
            return False
        try:
            return self._listing.is_at_end(self._request.positions.read(self.last_query_offset))
        except StateError:  # there are later batches than the last one that was taken
            return False

    def diagnose(self, request: DiagnosisRequest, scoped: ScopedCaptures | None = None) -> list[Diagnosis]:
        """Diagnose the current events, of all captures or of some scopes."""
        scoped = scoped or self.current()
        inputs = DiagnosisInput(scoped.captures, self._options.zone, events=scoped.events, scopes=scoped.scopes)
        return diagnose(self.spark, inputs, request) if scoped.captures else []

    def current(self, captures: Collection[str] | None = None) -> ScopedCaptures:
        """Return the current scopes and events of all captures, or of some."""
        with self._lock:
            events = self._events.table(captures)
            hints = self._events.hints(captures)
        known = self.captures or self._captures_now()
        selected = {path: each for path, each in known.items() if captures is None or path in captures}
        return ScopedCaptures(selected, scopes_of_captures(selected, hints), events)

    def take_new_names(self) -> dict[str, NamesByFile]:
        """Return the captures that changed since the last call, with the names of their new events."""
        with self._lock:
            return self._events.take_new_names()

    def expire(self, horizons: Mapping[str, datetime], *, is_table_due: bool) -> None:
        """Drop expired events from memory, and where it is due from the table."""
        self.horizons = horizons
        with self._lock:
            streams = self._events.streams()
        positions = self.positions()  # not older than these streams, so each of them that is there still has one
        deleted = streams_without_files(streams, positions)
        writers = {key for key in streams if topic_of(key, positions)}
        with self._table_lock:  # as long as this lasts, no stream that is dropped gets new events
            with self._lock:
                dropped = self._events.expire(horizons, deleted, writers)
            self._dropped.update(dropped)
            self._expired_streams.update(dropped, positions, self.last_query_offset)
            if is_table_due:
                self._table.expire(horizons, self._dropped)
                self._dropped.clear()

    def event_count(self) -> int:
        """Return how many events are in memory."""
        with self._lock:
            return self._events.count()

    def positions(self) -> Positions:
        """Return how far each stream was read whose events are here. A Connect server can be some batches ahead."""
        while True:
            query_offset = self.last_query_offset
            if query_offset == self._known_positions[0]:
                return self._known_positions[1]
            try:
                positions = self._request.positions.read(query_offset)
            except StateError:
                if query_offset != self.last_query_offset:  # the query went on meanwhile, and removed them
                    continue
                ahead = self._last_read_offset(query_offset) if self._is_connect else 0
                if not ahead:
                    raise
                with suppress(StateError):  # the server went on once more
                    return self._request.positions.read(ahead)
            else:
                self._known_positions = query_offset, positions
                return positions

    def _captures_now(self) -> dict[str, CaptureFiles]:
        captures: dict[str, CaptureFiles] = {}
        for position in self.positions().values():
            known = captures.get(position.capture, CaptureFiles((), ()))
            captures[position.capture] = replace(known, streams=(*known.streams, position.stream))
        return captures


def replayed_input(paths: Sequence[str], zone: tzinfo) -> DiagnosisInput:
    """Return the input of a replay: the files that a diagnosis of these paths reads."""
    found = find_input(paths, zone)
    return replace(found, captures=drop_duplicate_files(found.captures, LocalFileMeasures(zone)))
