"""A watch without streaming: the same listing, reader, events and detectors, in this process."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC
from typing import TYPE_CHECKING

import pyarrow as pa

from leadsman.pipeline.diagnose_in_session import diagnose_in_session
from leadsman.pipeline.events import ARROW_SCHEMA
from leadsman.pipeline.request import DiagnosisInput
from leadsman.pipeline.scope.cluster_files import scopes_of_captures
from leadsman.pipeline.scope.streams import CaptureFiles
from leadsman.pipeline.spark.packed_events import decompress
from leadsman.watch.event_store import CurrentEvents, EventBatch, ScopedCaptures
from leadsman.watch.positions import StreamPosition
from leadsman.watch.stream_changes import StreamChange, read_change

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime
    from pathlib import Path

    from pyspark.sql import SparkSession

    from leadsman.model import Diagnosis
    from leadsman.pipeline.request import DiagnosisRequest
    from leadsman.watch.event_store import NamesByFile
    from leadsman.watch.file_listing import FolderListing
    from leadsman.watch.objects.listing import ObjectListing
    from leadsman.watch.positions import Positions
    from leadsman.watch.replay import ReplayListing


class InProcessWatch:
    """What `Rounds` takes of a watch."""

    def __init__(
        self, spark: SparkSession, listing: FolderListing | ReplayListing | ObjectListing, folder: Path
    ) -> None:
        self.spark = spark
        self.listing = listing
        self.folder = folder
        self.events = CurrentEvents()
        self.last_query_offset = 0
        self.table_expiries = 0
        self.modes: list[list[str]] = []
        self.captures: Mapping[str, CaptureFiles] = {}
        self._positions: Positions = {}

    def read(self) -> None:
        """One trigger."""
        query_offset = self.last_query_offset + 1
        previous, self._positions = self._positions, self.listing.positions(self._positions, query_offset)
        changed = [
            each
            for key, each in self._positions.items()
            if isinstance(each, StreamPosition) and previous.get(key) is not each
        ]
        if not changed:
            return
        rows = [
            row
            for each in changed
            for batch in read_change(
                StreamChange(each, query_offset, previous[each.key].changed_in if each.key in previous else 0),
                self.folder,
                UTC,
            )
            for row in batch.to_pylist()
        ]
        self.events.apply(
            EventBatch(
                row["capture"],
                row["stream"],
                row["version"],
                row["number"],
                row["kind"],
                decompress(pa.py_buffer(row["events"])) if row["count"] else ARROW_SCHEMA.empty_table(),
            )
            for row in rows
        )
        self.last_query_offset = query_offset

    def current(self, captures: Collection[str]) -> ScopedCaptures:
        known: dict[str, CaptureFiles] = dict(self.captures)
        for each in self._positions.values() if not known else ():
            files = known.get(each.capture, CaptureFiles((), ()))
            known[each.capture] = replace(files, streams=(*files.streams, each.stream))
        selected = {path: each for path, each in known.items() if path in captures}
        scopes = scopes_of_captures(selected, self.events.hints(captures))
        return ScopedCaptures(selected, scopes, self.events.table(captures))

    def diagnose(self, request: DiagnosisRequest, scoped: ScopedCaptures) -> list[Diagnosis]:
        self.modes.append([mode.name for mode in request.modes])
        inputs = DiagnosisInput(scoped.captures, UTC, events=scoped.events, scopes=scoped.scopes)
        return diagnose_in_session(self.spark, inputs, request)

    def take_new_names(self) -> dict[str, NamesByFile]:
        return self.events.take_new_names()

    def expire(self, horizons: Mapping[str, datetime], *, is_table_due: bool) -> None:
        self.events.expire(horizons)
        self.table_expiries += is_table_due

    def positions(self) -> Positions:
        return self._positions
