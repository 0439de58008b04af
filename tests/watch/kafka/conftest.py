"""Real topics of a real broker, and their reading without Spark: positions, changes and events, trigger by trigger."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from leadsman.watch.event_store import CurrentEvents, EventBatch, changes_of
from leadsman.watch.expired_streams import ExpiredStreams, topic_of
from leadsman.watch.kafka.client_settings import write_settings
from leadsman.watch.kafka.listing import KafkaListing, TopicsRequest
from leadsman.watch.kafka.topic_changes import TopicChange, read_topic_change
from leadsman.watch.kafka.topic_consumer import consumer_of
from leadsman.watch.messages import SourceMessages
from leadsman.watch.positions import PositionFiles, TopicPosition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    import pyarrow as pa
    from pyspark.sql import Row

    from leadsman.lab.brokers.cluster import Cluster
    from leadsman.watch.positions import Positions

KEEP = {"retention.ms": "-1"}
"""Recorded lines are old: with the usual retention they would be deleted at once."""


@dataclass
class TopicWatch:
    """A watch of topics. Each trigger takes the steps that Spark takes, in its order."""

    request: TopicsRequest
    query_offset: int = 0
    events: CurrentEvents = field(default_factory=CurrentEvents)
    listing: KafkaListing = field(init=False)

    def __post_init__(self) -> None:
        self.listing = KafkaListing(self.request)
        self.messages = SourceMessages(self.request.sources_folder)

    @property
    def positions(self) -> Positions:
        return self.files.read(self.query_offset)

    @property
    def files(self) -> PositionFiles:
        return PositionFiles(Path(self.request.folder, "positions"))

    def plan(self) -> list[TopicChange]:
        """What the next trigger would read; its positions are written."""
        previous = self.positions
        now = self.listing.positions(previous, self.query_offset + 1)
        self.files.write(self.query_offset + 1, now)
        return [
            TopicChange(each, self.request, previous[key].changed_in if key in previous else 0)
            for key, each in now.items()
            if isinstance(each, TopicPosition) and previous.get(key) is not each and previous.get(key) != each
        ]

    def read(self, changes: Iterable[TopicChange]) -> list[EventBatch]:
        folder = Path(self.request.folder, "streams")
        rows = [row for each in changes for batch in read_topic_change(each, folder, UTC) for row in batch.to_pylist()]
        return changes_of(cast("Iterable[Row]", rows))

    def trigger(self) -> bool:
        """Read once; return whether there was anything to read."""
        changes = self.plan()
        if changes:
            self.events.apply(self.read(changes))
            self.query_offset += 1
        return bool(changes)

    def expire(self, horizon: datetime) -> None:
        """Drop what ended before a time."""
        positions = self.positions
        writers = [key for key in self.events.streams() if topic_of(key, positions)]
        dropped = self.events.expire({self.request.capture: horizon}, (), writers)
        ExpiredStreams(Path(self.request.folder)).update(dropped, positions, self.query_offset)

    def to_end(self) -> pa.Table:
        """Read all that there is, and return the current events."""
        while self.trigger():
            pass
        return self.events.table()

    def new_messages(self) -> list[str]:
        return [each.text for each in self.messages.new()]


MakeWatch = Callable[..., TopicWatch]
Produce = Callable[..., None]


@pytest.fixture
def watch_topics(cluster: Cluster, tmp_path: Path) -> Iterator[MakeWatch]:
    """Make watches. Their consumers end with the test: else those of all tests go on asking a stopped broker."""

    def make(*topics: str, state: str = "state", **options: Any) -> TopicWatch:
        private = tmp_path / "private"
        private.mkdir(exist_ok=True)
        settings = write_settings(None, private)
        return TopicWatch(TopicsRequest(cluster.bootstrap, topics, settings, str(tmp_path / state), **options))

    yield make
    consumer_of.cache_clear()


@pytest.fixture
def topic(cluster: Cluster) -> str:
    """A topic of this test alone, with three partitions."""
    name = f"logs-{uuid.uuid4().hex[:12]}"
    cluster.create_topic(name, partitions=3, config=KEEP)
    return name


@pytest.fixture
def produce(cluster: Cluster) -> Produce:
    """Produce records, given as keyword arguments of the producer; return when the broker has them.

    The producer is idempotent: else a batch that is sent again, as to a new leader, comes behind the one after it.
    """
    from confluent_kafka import Producer

    def run(topic: str, records: Iterable[Mapping[str, Any]], **settings: Any) -> None:
        producer = Producer(
            {"bootstrap.servers": cluster.bootstrap, "linger.ms": 5, "enable.idempotence": True, **settings}
        )
        for each in records:
            producer.produce(topic, **each)
            producer.poll(0)
        assert producer.flush(60) == 0

    return run
