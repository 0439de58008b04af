"""Runs the streaming query and the detectors beside it."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from leadsman.errors import SparkError
from leadsman.pipeline.diagnose import diagnose
from leadsman.pipeline.request import Input, find_input
from leadsman.pipeline.scope.copies import LocalFileMeasures, drop_duplicate_files
from leadsman.pipeline.scope.streams import CaptureFiles
from leadsman.pipeline.spark.executors import summarize_error
from leadsman.watch.event_store import CurrentEvents, EventTable, changes_of
from leadsman.watch.replay import ReplayListing
from leadsman.watch.source import NAME, OPTION, SourceRequests, WatchRequest, WatchSource

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import tzinfo
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from leadsman.model import Diagnosis
    from leadsman.pipeline.request import DiagnosisRequest
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
    "spark.databricks.delta.stats.collect": "false",  # an append of some events costs half as much
}


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """How to watch: the folder of the state, seconds between two triggers, and the detectors' request."""

    folder: Path
    zone: tzinfo
    interval_seconds: float
    tasks: int


class Watch:
    """A running watch: the query that reads, the current events, and diagnoses of them."""

    def __init__(
        self, spark: SparkSession, listing: Listing, options: WatchOptions, sources: SourceRequests | None = None
    ) -> None:
        self._spark = spark
        self._listing = listing
        self._options = options
        self._table = EventTable(spark, str(options.folder.resolve() / "events"))
        self._events = CurrentEvents()
        self._lock = threading.Lock()
        self._request = WatchRequest(
            listing, str(options.folder.resolve()), options.zone, options.tasks, sources or SourceRequests()
        )
        self.captures: Mapping[str, CaptureFiles] = {}
        self.last_number = 0

    @contextmanager
    def running(self) -> Iterator[StreamingQuery]:
        """Start the query, and stop it at the end of the block."""
        self._options.folder.mkdir(parents=True, exist_ok=True)
        self._events.apply(self._table.read())
        self._spark.dataSource.register(WatchSource)
        read = self._spark.readStream.format(NAME).option(OPTION, self._request.encode()).load()
        query = (
            read.writeStream.foreachBatch(self._append)
            .option("checkpointLocation", str(self._options.folder.resolve() / "checkpoint"))
            .trigger(processingTime=f"{self._options.interval_seconds} seconds")
            .start()
        )
        try:
            yield query
        finally:
            query.stop()

    def _append(self, batch: DataFrame, number: int) -> None:
        changes = changes_of(batch.collect())
        self._table.append(changes, query=self._query_id(batch), batch=number)
        with self._lock:
            self._events.apply(changes)
            self.last_number = max([self.last_number, *(each.number for each in changes)])

    def _query_id(self, batch: DataFrame) -> str:
        """Return the id of the query, which stays the same after a restart."""
        context: Any = batch.sparkSession.sparkContext
        return str(context.getLocalProperty("sql.streaming.queryId") or uuid.uuid4())

    def wait_for_end(self, query: StreamingQuery) -> None:
        """Wait until a replay is over. Raises SparkError where the query fails."""
        while self.is_running(query) and not self.is_at_end():
            time.sleep(POLL_SECONDS)

    def is_running(self, query: StreamingQuery) -> bool:
        """Return True; raise SparkError where the query has failed."""
        if query.isActive:
            return True
        raise SparkError(f"The streaming query ended: {summarize_error(query.exception() or Exception('stopped'))}")

    def is_at_end(self) -> bool:
        """Whether a replay is over: all lines are revealed, and their events are here."""
        if not isinstance(self._listing, ReplayListing) or not self.last_number:
            return False
        return self._listing.is_at_end(self._positions())

    def _positions(self) -> Positions:
        return self._request.positions.read(self.last_number)

    def diagnose(self, request: DiagnosisRequest) -> list[Diagnosis]:
        """Diagnose the current events."""
        with self._lock:
            events = self._events.table()
        captures = self.captures or self._captures_now()
        return diagnose(self._spark, Input(captures, self._options.zone, events=events), request)

    def _captures_now(self) -> dict[str, CaptureFiles]:
        captures: dict[str, CaptureFiles] = {}
        for position in self._positions().values():
            known = captures.get(position.capture, CaptureFiles((), ()))
            captures[position.capture] = replace(known, streams=(*known.streams, position.stream))
        return captures


def replayed_input(paths: Sequence[str], zone: tzinfo) -> Input:
    """Return the input of a replay: the files that a diagnosis of these paths reads."""
    found = find_input(paths, zone)
    return replace(found, captures=drop_duplicate_files(found.captures, LocalFileMeasures(zone)))
