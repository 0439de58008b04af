"""The history in a compacted Kafka topic of a real broker: each change in order, the last of each finding kept."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leadsman.errors import UsageError
from leadsman.watch.finding_changes import FindingHistory, LifeTimes
from leadsman.watch.state.findings_file import FindingsFile
from leadsman.watch.state.history_table import HistoryTopic, publish

from .findings import at, diagnosed, harmed

if TYPE_CHECKING:
    from pathlib import Path

    from leadsman.lab.brokers.cluster import Cluster


def changed(file: FindingsFile, history: FindingHistory, *harm: float, until: float) -> None:
    changes = history.update([diagnosed(harmed(*harm), until=until)], {}, at(until))
    file.save([(each, "{}") for each in changes], history.known.values())


def records(servers: str, topic: str, count: int) -> list[tuple[str, dict[str, Any]]]:
    from confluent_kafka import Consumer

    consumer = Consumer({"bootstrap.servers": servers, "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    found = [message for _ in range(count) if (message := consumer.poll(30)) is not None]
    consumer.close()
    return [((each.key() or b"").decode(), json.loads(each.value() or b"{}")) for each in found]


@pytest.mark.lab
def test_each_change_is_a_record_and_the_topic_is_compacted(cluster: Cluster, tmp_path: Path):
    from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType  # type: ignore[attr-defined]  # its own

    servers = cluster.bootstrap
    topic = HistoryTopic.parse(f"{servers}/leadsman-findings")
    file = FindingsFile(tmp_path / "findings.sqlite")
    history = FindingHistory(LifeTimes(updated_every=timedelta()))
    changed(file, history, 0, until=1)
    with topic.target() as target:
        publish(file, target)
    changed(file, history, 0, until=60)
    with topic.target() as target:
        written = publish(file, target)

    found = records(servers, topic.topic, 2)
    resource = ConfigResource(ResourceType.TOPIC, topic.topic)
    client = AdminClient({"bootstrap.servers": servers})  # it lives until the answer is there
    settings = client.describe_configs([resource])[resource].result(30)
    assert written == 1
    assert [value["life"] for _, value in found] == ["opened", "resolved"]
    assert len({key for key, _ in found}) == 1
    assert [value["schema"] for _, value in found] == ["leadsman.finding_change/1"] * 2
    assert settings["cleanup.policy"].value == "compact"


def test_an_unreachable_target_gets_the_changes_later(tmp_path: Path):
    file = FindingsFile(tmp_path / "findings.sqlite")
    changed(file, FindingHistory(), 0, until=1)
    written: list[int] = []

    def fail(_rows: object) -> None:
        raise OSError("no route")

    with pytest.raises(OSError, match="no route"):
        publish(file, ("topic", fail))
    publish(file, ("topic", lambda rows: written.extend(seq for seq, _ in rows)))
    publish(file, ("topic", lambda rows: written.extend(seq for seq, _ in rows)))

    assert written == [1]


def test_changes_that_a_kill_left_between_two_notes_are_written_again_as_the_same_and_no_others(tmp_path: Path):
    file, history = FindingsFile(tmp_path / "findings.sqlite"), FindingHistory()
    versions: dict[int, list[int]] = {}
    changed(file, history, 0, until=1)

    def write_and_die(rows: list[tuple[int, Any]]) -> None:
        versions[rows[-1][0]] = [seq for seq, _ in rows]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        publish(file, ("table", write_and_die))
    changed(file, history, 0, until=60)
    publish(file, ("table", lambda rows: versions.setdefault(rows[-1][0], [seq for seq, _ in rows])))

    assert versions == {1: [1], 2: [2]}


@pytest.mark.parametrize("text", ["broker:9092", "/topic", "broker:9092/", ""])
def test_what_names_no_topic_is_refused(text: str):
    with pytest.raises(UsageError, match="HOST:PORT/TOPIC"):
        HistoryTopic.parse(text)
