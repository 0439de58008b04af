"""Every client speaks to a real broker, and its service logs as services do."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leadsman.errors import LabError, ProgramDidNotAnswer
from leadsman.lab.workload.clients import client, client_names
from leadsman.lab.workload.worker import Worker

if TYPE_CHECKING:
    from pathlib import Path

    from leadsman.lab.brokers.cluster import Cluster

SETTINGS = {"acks": "1", "retries": "0", "enable.idempotence": "false", "connections.max.idle.ms": "1350"}


@pytest.mark.lab
@pytest.mark.parametrize("name", client_names())
def test_a_worker_delivers_and_logs(cluster: Cluster, tmp_path: Path, name: str) -> None:
    library = client(name)
    settings, _ = library.translate({**SETTINGS, "bootstrap.servers": cluster.bootstrap})
    topic = name.replace("@", "-")
    cluster.create_topic(topic)

    with Worker.start("worker-1", library, topic=topic, settings=settings, folder=tmp_path) as worker:
        reports = [worker.deliver(), worker.deliver()]
        worker.quit()
    log = worker.log.read_text()

    assert [entry.result for entry in reports] == ["ok", "ok"]
    assert [entry.value for entry in reports] == ["worker-1:1", "worker-1:2"]
    assert "Handling event 2\n" in log
    assert f"Event 2 delivered to {topic}-0@1 in " in log
    assert "\tconnections.max.idle.ms = 1350\n" in log
    assert "Shutting down\n" in log


@pytest.mark.lab
def test_a_worker_that_dies_reports_the_end_of_its_log(cluster: Cluster, tmp_path: Path) -> None:
    library = client("confluent-kafka")
    settings = {"bootstrap.servers": cluster.bootstrap, "no.such.setting": "1"}

    with (
        Worker.start("worker-1", library, topic="x", settings=settings, folder=tmp_path) as worker,
        pytest.raises(ProgramDidNotAnswer, match=r"no\.such\.setting"),
    ):
        worker.deliver()


@pytest.mark.lab
def test_a_worker_that_does_not_answer_in_time_has_an_empty_report(cluster: Cluster, tmp_path: Path) -> None:
    library = client("confluent-kafka")
    settings, _ = library.translate({"bootstrap.servers": cluster.bootstrap})

    with Worker.start("worker-1", library, topic="never-made", settings=settings, folder=tmp_path) as worker:
        worker.send()
        report = worker.await_report(timeout=timedelta(seconds=0.5))

    assert report.result == ""
    assert not report.acknowledged


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
def test_a_client_that_the_lab_does_not_have_is_named(name: str) -> None:
    with pytest.raises(LabError, match=name.partition("@")[0]):
        client(name)
