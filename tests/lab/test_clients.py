"""Every client speaks to a real broker, and its service logs as services do."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leadsman.errors import LabError, ProgramDidNotAnswer
from leadsman.lab.clients import Worker, client, names

if TYPE_CHECKING:
    from pathlib import Path

    from leadsman.lab.cluster import Cluster

SETTINGS = {"acks": "1", "retries": "0", "enable.idempotence": "false", "connections.max.idle.ms": "1350"}


@pytest.mark.lab
@pytest.mark.parametrize("name", names())
def test_a_worker_delivers_and_logs(cluster: Cluster, tmp_path: Path, name: str) -> None:
    wanted = client(name)
    settings, _ = wanted.translate({**SETTINGS, "bootstrap.servers": cluster.bootstrap})
    topic = name.replace("@", "-")
    cluster.create_topic(topic)

    with Worker.start("worker-1", wanted, topic=topic, settings=settings, folder=tmp_path) as worker:
        told = [worker.deliver(), worker.deliver()]
        worker.quit()
    log = worker.log.read_text()

    assert [entry.result for entry in told] == ["ok", "ok"]
    assert [entry.value for entry in told] == ["worker-1:1", "worker-1:2"]
    assert "Handling event 2\n" in log
    assert f"Event 2 delivered to {topic}-0@1 in " in log
    assert "\tconnections.max.idle.ms = 1350\n" in log
    assert "Shutting down\n" in log


@pytest.mark.lab
def test_a_worker_that_dies_says_its_last_words(cluster: Cluster, tmp_path: Path) -> None:
    wanted = client("confluent-kafka")
    settings = {"bootstrap.servers": cluster.bootstrap, "no.such.setting": "1"}

    with (
        Worker.start("worker-1", wanted, topic="x", settings=settings, folder=tmp_path) as worker,
        pytest.raises(ProgramDidNotAnswer, match=r"no\.such\.setting"),
    ):
        worker.deliver()


@pytest.mark.lab
def test_a_worker_that_does_not_answer_in_time_was_told_nothing(cluster: Cluster, tmp_path: Path) -> None:
    wanted = client("confluent-kafka")
    settings, _ = wanted.translate({"bootstrap.servers": cluster.bootstrap})

    with Worker.start("worker-1", wanted, topic="never-made", settings=settings, folder=tmp_path) as worker:
        worker.send()
        told = worker.answer(within=timedelta(seconds=0.5))

    assert told.result == ""
    assert not told.acknowledged


def test_settings_are_translated_for_each_client() -> None:
    assert client("java").translate(SETTINGS) == (SETTINGS, ())
    assert client("confluent-kafka").translate(SETTINGS) == (SETTINGS, ())
    assert client("kafka-python").translate(SETTINGS) == (
        {"acks": 1, "retries": 0, "enable_idempotence": False, "connections_max_idle_ms": 1350},
        (),
    )
    assert client("aiokafka").translate(SETTINGS) == (
        {"acks": 1, "enable_idempotence": False, "connections_max_idle_ms": 1350},
        ("retries",),
    )


@pytest.mark.parametrize("name", ["rust", "java@0.8", "kafka-python@1.0"])
def test_a_client_that_cannot_be_had_is_named(name: str) -> None:
    with pytest.raises(LabError, match=name.partition("@")[0]):
        client(name)
