"""The streaming source of `leadsman watch`: files and Kafka topics as a Python data source of Structured Streaming.

A query offset is the number of a file of positions. A partition is a share of the streams and topics that changed; a
task reads what was appended, and its rows are packed events, so that only events cross into the JVM.
"""

from __future__ import annotations

import pickle
from base64 import b64decode, b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from leadsman.pipeline.scope.streams import balance_streams
from leadsman.watch.expired_streams import without_expired
from leadsman.watch.kafka.listing import KafkaListing
from leadsman.watch.kafka.topic_changes import TopicChange, read_topic_change
from leadsman.watch.objects.listing import ObjectListing
from leadsman.watch.positions import PositionFiles, SeriesPosition, StreamPosition
from leadsman.watch.prometheus import PrometheusListing, SeriesChange, read_series_change
from leadsman.watch.stream_changes import CHANGES_DDL, StreamChange, read_change

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from leadsman.watch.kafka.listing import TopicsRequest
    from leadsman.watch.positions import Position, Positions
    from leadsman.watch.prometheus import PrometheusRequest

    SourceChange = StreamChange | TopicChange | SeriesChange

NAME = "leadsman_watch"
OPTION = "request"

NUMBER = "number"
"""The key of a query offset in Spark's checkpoint. It keeps this name, so that older checkpoints can be read."""


class Listing(Protocol):
    """Lists files, topics or servers with the positions up to which they can be read."""

    def positions(self, earlier: Positions, query_offset: int) -> Positions:
        """Return the positions of a query offset, after `earlier`: the same object where nothing was appended."""


@dataclass(frozen=True, slots=True)
class CombinedListing:
    """Several listings in one query."""

    listings: Sequence[Listing]

    def positions(self, earlier: Positions, query_offset: int) -> Positions:
        """Return the positions of all."""
        positions = earlier
        for each in self.listings:
            positions = each.positions(positions, query_offset)
        return positions


@dataclass(frozen=True, slots=True)
class SourceRequests:
    """How sources that are no files are read."""

    topics: TopicsRequest | None = None
    prometheus: PrometheusRequest | None = None
    objects: tuple[str, ...] = ()
    """Folders of copies of objects."""

    def listing(self, files: Listing) -> Listing:
        """Return the listing of files and of these."""
        topics = [KafkaListing(self.topics)] if self.topics else []
        series = [PrometheusListing(self.prometheus)] if self.prometheus else []
        objects = [ObjectListing(self.objects)] if self.objects else []
        return CombinedListing([files, *objects, *topics, *series])


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """What is watched: files and topics of `listing`. `folder` holds positions and states; `tasks` read at once.

    `sources` says how topics and servers are read, where any are.
    """

    listing: Listing
    folder: str
    zone: tzinfo
    tasks: int
    sources: SourceRequests = SourceRequests()

    def encode(self) -> str:
        """Return the request as an option of the source."""
        return b64encode(pickle.dumps(self)).decode()

    @staticmethod
    def decode(option: str) -> WatchRequest:
        """Return the request of a source."""
        request: WatchRequest = pickle.loads(b64decode(option))  # noqa: S301 - encoded by the same process
        return request

    @property
    def positions(self) -> PositionFiles:
        """The positions of each query offset."""
        return PositionFiles(Path(self.folder, "positions"))


class WatchSource(DataSource):
    """The data source; Spark makes its readers in processes of their own."""

    @classmethod
    def name(cls) -> str:
        """Return the name by which a query reads the source."""
        return NAME

    def schema(self) -> str:
        """Return the schema of packed events."""
        return CHANGES_DDL

    def streamReader(self, schema: StructType) -> WatchReader:  # noqa: N802, ARG002 - PySpark's signature
        """Return the reader."""
        return WatchReader(WatchRequest.decode(self.options[OPTION]))


class WatchPartition(InputPartition):
    """The streams that one task reads."""

    def __init__(self, index: int, changes: list[SourceChange]) -> None:
        super().__init__(index)
        self.changes = changes


class WatchReader(DataSourceStreamReader):
    """Finds what changed, and reads it. Finding runs in one process beside the driver, reading in tasks."""

    def __init__(self, request: WatchRequest) -> None:
        self._request = request
        self._latest: tuple[int, Positions] | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - PySpark's signature
        """Return the offset before the first line."""
        return {NUMBER: 0}

    def latestOffset(self, start: dict[str, int] | None = None, limit: Any = None) -> dict[str, int]:  # noqa: N802, ANN401, ARG002 - PySpark's signature
        """Return the next offset where something was appended, else the same one."""
        query_offset = start[NUMBER] if start else 0
        previous = self._positions(query_offset)
        now = self._request.listing.positions(previous, query_offset + 1)
        now = without_expired(now, previous, Path(self._request.folder))
        if all(previous.get(key) is each for key, each in now.items()):
            return {NUMBER: query_offset}
        self._request.positions.write(query_offset + 1, now)
        self._latest = query_offset + 1, now
        return {NUMBER: query_offset + 1}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """Return the shares of the streams that changed between two offsets."""
        previous, now = self._positions(start[NUMBER]), self._positions(end[NUMBER])
        changes = [
            self._change(each, end[NUMBER], previous[key].changed_in if key in previous else 0)
            for key, each in now.items()
            if each.changed_in > start[NUMBER]
        ]
        shares = balance_streams(changes, self._request.tasks)
        return [WatchPartition(index, share) for index, share in enumerate(shares)]

    def read(self, partition: WatchPartition) -> Iterator[pa.RecordBatch]:  # type: ignore[override]  # its own kind
        """Yield the packed events of a share."""
        folder = Path(self._request.folder, "streams")
        for change in partition.changes:
            if isinstance(change, TopicChange):
                yield from read_topic_change(change, folder, self._request.zone)
            elif isinstance(change, SeriesChange):
                yield from read_series_change(change, self._request.zone)
            else:
                yield from read_change(change, folder, self._request.zone)

    def commit(self, end: dict[str, int]) -> None:
        """Remove what no restart needs."""
        self._request.positions.remove_before(end[NUMBER] - 1)

    def _change(self, position: Position, query_offset: int, previous_offset: int) -> SourceChange:
        if isinstance(position, StreamPosition):
            return StreamChange(position, query_offset, previous_offset)
        if isinstance(position, SeriesPosition):
            assert self._request.sources.prometheus is not None
            return SeriesChange(position, self._request.sources.prometheus)
        assert self._request.sources.topics is not None
        return TopicChange(position, self._request.sources.topics, previous_offset)

    def _positions(self, query_offset: int) -> Positions:
        if self._latest is None or self._latest[0] != query_offset:
            self._latest = query_offset, self._request.positions.read(query_offset)
        return self._latest[1]
