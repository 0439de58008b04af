"""The campaign of kills sees what a watch has lost, and what it has kept twice."""

from __future__ import annotations

import json
import random
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from leadsman.errors import LabError
from leadsman.lab.killing.failing_clients import FailingClients, comparable
from leadsman.lab.killing.kept_state import Expected, differences, table_rows
from leadsman.pipeline.events import ARROW_SCHEMA
from leadsman.waiting import wait_for
from leadsman.watch.event_store import TABLE_SCHEMA
from leadsman.watch.state.history_table import HISTORY_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from leadsman.lab.brokers.cluster import Cluster

EAST, WEST = "E" * 22, "W" * 22
AS_SPARK_WRITES = TABLE_SCHEMA.set(TABLE_SCHEMA.get_field_index("at"), pa.field("at", pa.timestamp("us")))
"""Its times have no zone in the file."""

TOPIC = "logs"
NOON = datetime(2026, 2, 16, 12, tzinfo=UTC)


def row(line: int, *, in_topic: bool = False, number: int = 1, version: int = 0, kind: str = "facts") -> dict[str, Any]:
    """A row of the event table."""
    capture, file = ("kafka:east", f"{TOPIC}/app.log") if in_topic else ("logs", "app.log")
    event: dict[str, Any] = {
        **dict.fromkeys(TABLE_SCHEMA.names),
        "capture": capture,
        "file": file,
        "line": line,
        "labels": [],
    }
    return {**event, "stream": "app.log", "version": version, "number": number, "kind": kind}


def change(cluster: str, life: str = "opened", number: int = 1) -> dict[str, Any]:
    return {"id": f"finding of {cluster}", "number": number, "life": life, "cluster": cluster}


def message(cluster: str, key: str, title: str = "Connection gone") -> dict[str, Any]:
    return {"key": key, "life": "opened", "title": title, "cluster": cluster}


def write_table(folder: Path, rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> None:
    """One commit for each row; then one that replaces the first file."""
    (folder / "_delta_log").mkdir(parents=True)
    for number, each in enumerate([*rows, rows[0]]):
        pq.write_table(pa.Table.from_pylist([each], schema), folder / f"{number}.parquet")
        actions: list[dict[str, Any]] = [{"commitInfo": {}}, {"add": {"path": f"{number}.parquet"}}]
        if number == len(rows):
            actions.append({"remove": {"path": "0.parquet"}})
        (folder / "_delta_log" / f"{number:020d}.json").write_text("\n".join(map(json.dumps, actions)))


class State:
    """What a watch would have kept."""

    def __init__(self) -> None:
        self.rows = [row(1), row(2), row(3, in_topic=True)]
        self.changes = [change(EAST), change(WEST), change(WEST, "resolved", 2)]
        self.history = list(self.changes)
        self.received = [message(EAST, "a"), message(WEST, "b"), message(WEST, "b")]  # one was sent again
        self.waiting = 0

    def differences(self, folder: Path) -> dict[str, str]:
        """What the campaign says of it."""
        write_table(folder / "events", self.rows, AS_SPARK_WRITES)
        write_table(folder / "history", self.history, HISTORY_SCHEMA)
        with closing(sqlite3.connect(folder / "findings.sqlite")) as file, file:
            file.execute("CREATE TABLE changes (seq INTEGER PRIMARY KEY, change TEXT)")
            file.execute("CREATE TABLE outbox (state TEXT)")
            file.executemany("INSERT INTO changes (change) VALUES (?)", [(json.dumps(each),) for each in self.changes])
            file.executemany("INSERT INTO outbox VALUES (?)", [("waiting",)] * self.waiting + [("sent",)])
        return differences(folder, expected_events(), topic=TOPIC, received=self.received)


def expected_events() -> Expected:
    """The events as a reader returns them: without the columns of the table."""
    events = [{name: value for name, value in row(line).items() if name in ARROW_SCHEMA.names} for line in (1, 2, 3)]
    return Expected(comparable(events[:2], ""), comparable(events[2:], ""), frozenset({EAST, WEST}))


def test_a_state_without_a_fault_has_no_differences(tmp_path: Path) -> None:
    assert State().differences(tmp_path) == {}


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda state: state.rows.pop(1), "events of files"),
        (lambda state: state.rows.append(row(2)), "events of files"),
        (lambda state: state.rows.pop(2), "events of the topic"),
        (lambda state: state.rows.append(row(3, in_topic=True)), "events of the topic"),
        (lambda state: state.received.pop(0), "messages of opened findings"),
        (lambda state: state.received.append(message(EAST, "c")), "messages of opened findings"),
        (lambda state: state.history.pop(1), "history"),
        (lambda state: state.history.append(change(EAST)), "history"),
        (lambda state: setattr(state, "waiting", 1), "messages"),
    ],
)
def test_what_is_lost_and_what_is_there_twice_is_seen(
    spoil: Callable[[State], object], expected: str, tmp_path: Path
) -> None:
    state = State()
    spoil(state)

    assert list(state.differences(tmp_path)) == [expected]


def test_a_finding_that_was_opened_twice_is_seen(tmp_path: Path) -> None:
    state = State()
    state.changes.append(change(EAST, number=2))
    state.history.append(change(EAST, number=2))

    assert set(state.differences(tmp_path)) == {"opened findings", "messages of opened findings"}


def test_a_message_about_several_findings_counts_as_these(tmp_path: Path) -> None:
    state = State()
    state.received = [message("", "a", "2 findings at once")]

    assert state.differences(tmp_path) == {}


def test_events_of_an_earlier_version_and_an_earlier_summary_are_not_current(tmp_path: Path) -> None:
    rows = [row(1), row(2, version=1), row(3, version=1, kind="summary"), row(4, version=1, number=2, kind="summary")]
    write_table(tmp_path, rows, TABLE_SCHEMA)

    assert sorted(each["line"] for each in table_rows(tmp_path)) == [2, 4]


@pytest.mark.lab
def test_the_topic_holds_what_its_reference_holds(cluster: Cluster, tmp_path: Path) -> None:
    topic = f"kills-{uuid4().hex[:8]}"
    cluster.create_topic(topic)
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    clients = FailingClients(tmp_path / "files", tmp_path / "reference", topic, producer, random.Random(1))
    with clients:
        clients.begin(EAST, in_topic=True)
        clients.begin(WEST, in_topic=False)
        wait_for(clients.is_written, timeout=timedelta(minutes=2), what="all pieces", error=LabError)
    texts = {
        path.relative_to(tmp_path / "reference").as_posix(): path.read_bytes()
        for path in (tmp_path / "reference").rglob("*.log")
    }

    assert texts_of_topic(cluster, topic, sum(text.count(b"\n") for text in texts.values())) == texts
    of_files, of_topic = clients.events()
    assert len(of_files) == len(of_topic) > 0


def texts_of_topic(cluster: Cluster, topic: str, count: int) -> dict[str, bytes]:
    """The lines of a topic with one partition, by key."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": topic})
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        records = consumer.consume(count, timeout=60)
    finally:
        consumer.close()
    found: dict[str, bytes] = {}
    for record in records:
        key, line = record.key(), record.value()
        assert key is not None
        assert line is not None
        found[key.decode()] = found.get(key.decode(), b"") + line + b"\n"
    return found
