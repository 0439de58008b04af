"""Asks a Kafka cluster for topics, their partitions, and the offsets that can be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from leadsman.watch.kafka.client_settings import admin_settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

REQUEST_SECONDS = 10


class ClusterUnavailable(Exception):
    """No broker answers."""


@dataclass(frozen=True, slots=True)
class PartitionOffsets:
    """The offsets of a partition that can be read: from `first` to before `last`, the last stable offset."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class TopicOffsets:
    """A topic as it is now. `error` is set where it cannot be read; partitions without a leader are left out."""

    name: str
    id: str = ""
    partitions: Mapping[int, PartitionOffsets] = field(default_factory=dict)
    error: str = ""


class ClusterOffsets:
    """One connection to a cluster. Every request raises ClusterUnavailable where no broker answers."""

    def __init__(self, bootstrap: str, settings_file: str) -> None:
        self._bootstrap = bootstrap
        self._settings_file = settings_file
        self._admin: Any = None
        self._last_error = ""

    def topics(self, names: Sequence[str]) -> list[TopicOffsets]:
        """Return the topics as they are now, those that do not exist with an error."""
        described = [self._describe(name, future) for name, future in self._request_topics(names)]
        pairs = [(each.name, number) for each in described for number in each.partitions]
        first, last = self._offsets(pairs, "earliest"), self._offsets(pairs, "latest")
        return [
            TopicOffsets(
                each.name,
                each.id,
                {
                    number: PartitionOffsets(first[each.name, number], last[each.name, number])
                    for number in each.partitions
                    if (each.name, number) in first and (each.name, number) in last
                },
                each.error,
            )
            for each in described
        ]

    def offsets_at(self, pairs: Iterable[tuple[str, int]], at_ms: int) -> dict[tuple[str, int], int]:
        """Return the offset of each partition's first record that is not older than `at_ms`; -1 where there is none."""
        return self._offsets(pairs, at_ms)

    def _open(self) -> Any:  # noqa: ANN401 - the library's types are partial
        from confluent_kafka.admin import AdminClient

        if self._admin is None:
            settings = admin_settings(self._bootstrap, self._settings_file) | {"error_cb": self._note_error}
            self._admin = AdminClient(settings)
        return self._admin

    def _note_error(self, error: Any) -> None:  # noqa: ANN401 - KafkaError
        from confluent_kafka import KafkaError

        if error.code() != KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001 - the library's name; it has no reason
            self._last_error = str(error.str())

    def _request_topics(self, names: Sequence[str]) -> Iterable[tuple[str, Any]]:
        from confluent_kafka import TopicCollection

        futures = self._open().describe_topics(TopicCollection(list(names)), request_timeout=REQUEST_SECONDS)
        return list(futures.items())

    def _describe(self, name: str, future: Any) -> TopicOffsets:  # noqa: ANN401 - a future
        from confluent_kafka import KafkaException

        try:
            topic = future.result()
        except KafkaException as error:
            self._raise_if_unavailable(error)
            return TopicOffsets(name, error=str(error.args[0].str()))
        return TopicOffsets(name, str(topic.topic_id), {each.id: PartitionOffsets(0, 0) for each in topic.partitions})

    def _offsets(self, pairs: Iterable[tuple[str, int]], which: str | int) -> dict[tuple[str, int], int]:
        from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
        from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]  # it is documented there

        spec = OffsetSpec.for_timestamp(which) if isinstance(which, int) else getattr(OffsetSpec, which)()
        request = {TopicPartition(*pair): spec for pair in pairs}
        if not request:
            return {}
        futures = self._open().list_offsets(
            request, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=REQUEST_SECONDS
        )
        found: dict[tuple[str, int], int] = {}
        for partition, future in futures.items():
            try:
                found[partition.topic, partition.partition] = future.result().offset
            except KafkaException as error:
                self._raise_if_unavailable(error)
        return found

    def _raise_if_unavailable(self, error: Exception) -> None:
        """Raise ClusterUnavailable, unless a broker answered with this error."""
        if error.args[0].code() < 0:  # librdkafka's own: no broker answered
            self._open().poll(0)  # hands over what the connections report
            raise ClusterUnavailable(self._last_error or str(error.args[0].str())) from error
