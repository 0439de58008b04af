"""The history of findings for others: a Delta table, and a compacted Kafka topic where one is named."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from leadsman.errors import MissingExtra, UsageError
from leadsman.installation import install_command
from leadsman.watch.state import delta_tables
from leadsman.watch.state.findings_file import change_document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from leadsman.watch.finding_changes import FindingChange
    from leadsman.watch.state.findings_file import FindingsFile

TIME = pa.timestamp("us", tz="UTC")

HISTORY_SCHEMA = pa.schema(
    [  # type: ignore[arg-type]  # the stubs do not know that pairs do
        ("seq", pa.int64()),
        ("id", pa.string()),
        ("number", pa.int64()),
        ("life", pa.string()),
        ("mode", pa.string()),
        ("path", pa.string()),
        ("cluster", pa.string()),
        ("title", pa.string()),
        ("since", TIME),
        ("until", TIME),
        ("subjects", pa.int64()),
        ("at", TIME),
        ("is_news", pa.bool_()),
    ]
)

ROWS_AT_ONCE = 1000

APP_ID = "leadsman_findings"
"""Delta's application id. Together with the number of the last change it makes an append that is repeated after a kill
append nothing."""

FLUSH_TIMEOUT_SECONDS = 30.0
ADMIN_TIMEOUT_SECONDS = 30.0

Target = tuple[str, "Callable[[list[tuple[int, FindingChange]]], object]"]
"""A name, and what writes changes there, or raises."""


def publish(file: FindingsFile, target: Target) -> int:
    """Write the changes that a target does not have yet; return how many."""
    name, write = target
    written = 0
    while rows := file.begin_publishing(name, ROWS_AT_ONCE):
        write(rows)
        file.end_publishing(name)
        written += len(rows)
    return written


def delta_table(folder: Path) -> Target:
    """Return the Delta table in a folder: a row for each change."""

    def write(rows: list[tuple[int, FindingChange]]) -> None:
        documents = [
            {"seq": seq, **{name: getattr(each, name) for name in HISTORY_SCHEMA.names[1:]}} for seq, each in rows
        ]
        table = pa.Table.from_pylist(documents, schema=HISTORY_SCHEMA)
        delta_tables.append(folder, table, txn_app_id=APP_ID, txn_version=rows[-1][0])

    return "delta", write


@dataclass(frozen=True, slots=True)
class HistoryTopic:
    """A Kafka topic, compacted by the id of a finding: it keeps the last change of each."""

    servers: str
    topic: str

    @classmethod
    def parse(cls, text: str) -> HistoryTopic:
        """Return the topic of SERVERS/TOPIC."""
        servers, slash, topic = text.rpartition("/")
        if not slash or not servers or not topic:
            raise UsageError(f"--history-topic takes HOST:PORT/TOPIC, not {text!r}.")
        try:
            import confluent_kafka  # noqa: F401 - whether it is there
        except ImportError as error:
            raise MissingExtra(
                f"--history-topic needs confluent-kafka. Install it: {install_command('lab')}"
            ) from error
        return cls(servers, topic)

    def create(self) -> None:
        """Create the topic, compacted, where it does not exist."""
        from confluent_kafka.admin import AdminClient
        from confluent_kafka.cimpl import NewTopic

        admin = AdminClient({"bootstrap.servers": self.servers})
        if self.topic in admin.list_topics(timeout=ADMIN_TIMEOUT_SECONDS).topics:
            return
        new = NewTopic(self.topic, num_partitions=1, config={"cleanup.policy": "compact"})
        admin.create_topics([new], request_timeout=ADMIN_TIMEOUT_SECONDS)[self.topic].result()

    @contextmanager
    def target(self) -> Iterator[Target]:
        """Yield the topic as a target. One partition and an idempotent producer keep the order of the changes."""
        from confluent_kafka import Producer

        self.create()
        producer = Producer(
            {"bootstrap.servers": self.servers, "enable.idempotence": True, "client.id": "leadsman-watch"}
        )

        def write(rows: list[tuple[int, FindingChange]]) -> None:
            failed: list[object] = []

            def report(error: object, _message: object) -> None:
                if error is not None:
                    failed.append(error)

            for seq, each in rows:
                value = json.dumps({"schema": "leadsman.finding_change/1", "seq": seq, **change_document(each)})
                producer.produce(self.topic, key=each.id, value=value, on_delivery=report)
            if producer.flush(FLUSH_TIMEOUT_SECONDS) or failed:
                raise OSError(f"{self.topic} at {self.servers}: {failed[0] if failed else 'no answer in time'}")

        yield f"kafka {self.servers}/{self.topic}", write
        producer.flush(FLUSH_TIMEOUT_SECONDS)
