"""Brokers start, break, come back, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import psutil
import pytest
from confluent_kafka.admin import AdminClient

from leadsman.errors import BrokerDidNotStart, LabError
from leadsman.lab import faults
from leadsman.lab.brokers.cluster import START_TIMEOUT, Cluster, ClusterPlan
from leadsman.lab.brokers.fast_start import broker_archive

if TYPE_CHECKING:
    from leadsman.lab.brokers.cluster import Broker

pytestmark = pytest.mark.lab

AT_ONCE = timedelta(seconds=0.2)
"""No broker starts in this: to the lab it hangs."""


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made during the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def brokers_left() -> list[str]:
    """Kafka programs that this process has started and that still run in a folder of the test's own."""
    children = psutil.Process().children(recursive=True)
    return [child.name() for child in children if "kafka.Kafka" in child.cmdline()]


def controller_log(node: Broker) -> str:
    return "".join(log.read_text() for log in node.logs if log.name == "controller.log")


def test_a_topic_can_be_made_and_described(cluster: Cluster) -> None:
    cluster.create_topic("described", partitions=2)

    with cluster.describe_topics() as describing:
        described = describing.output.read()

    assert "Topic: described\t" in described
    assert "PartitionCount: 2" in described


def test_a_broker_starts_with_the_class_archive(cluster: Cluster) -> None:
    program = cluster.brokers[0].program
    assert program is not None

    mapped = Path(f"/proc/{program.popen.pid}/maps").read_text()

    assert str(broker_archive()) in mapped


def test_its_logs_know_nothing_of_the_folder_it_was_started_from(cluster: Cluster) -> None:
    broker = cluster.brokers[0]

    settings = (broker.folder / "server.properties").read_text()

    assert str(broker.folder.parent) not in settings


class Outage(NamedTuple):
    """What was seen of a broker that was down for a moment."""

    was_running: bool
    is_running: bool
    starts: int
    logged: bytes
    """What the broker wrote until it was down."""


@pytest.fixture(scope="module")
def outages(cluster: Cluster) -> dict[signal.Signals, Outage]:
    return {by: outage(cluster.brokers[0], by) for by in (signal.SIGTERM, signal.SIGKILL)}


def outage(broker: Broker, by: signal.Signals) -> Outage:
    starts, before = broker.starts, broker.log.stat().st_size
    with faults.down(broker, by=by):
        was_running, logged = broker.is_running, broker.log.read_bytes()[before:]
    return Outage(was_running, broker.is_running, broker.starts - starts, logged)


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGKILL])
def test_a_broker_that_was_down_is_up_again(outages: dict[signal.Signals, Outage], by: signal.Signals) -> None:
    seen = outages[by]

    assert not seen.was_running
    assert seen.is_running
    assert seen.starts == 1


def test_an_orderly_stop_stands_in_the_log_and_a_kill_does_not(outages: dict[signal.Signals, Outage]) -> None:
    assert b"shutting down" not in outages[signal.SIGKILL].logged
    assert b"shutting down" in outages[signal.SIGTERM].logged


def test_a_fault_is_undone_when_the_experiment_fails(cluster: Cluster) -> None:
    broker = cluster.brokers[0]

    with pytest.raises(ZeroDivisionError), faults.down(broker):
        raise ZeroDivisionError

    assert broker.is_running


def test_a_start_that_hangs_is_tried_again(scratch: Path) -> None:
    plan = ClusterPlan(start_within=(AT_ONCE, START_TIMEOUT[1]))

    with Cluster(plan) as cluster:
        starts = cluster.brokers[0].starts

    assert starts == 2
    assert not list(scratch.iterdir())


def test_a_broker_that_never_starts_shows_its_last_lines_and_leaves_nothing(scratch: Path) -> None:
    before = brokers_left()
    plan = ClusterPlan(settings={"authorizer.class.name": "no.such.Authorizer"})

    with pytest.raises(BrokerDidNotStart, match=r"no\.such\.Authorizer"), Cluster(plan):
        pass

    assert brokers_left() == before
    assert not list(scratch.iterdir())


def test_settings_that_cannot_be_are_named_before_the_start(scratch: Path) -> None:
    with pytest.raises(LabError, match=r"num\.io\.threads"), Cluster(ClusterPlan(settings={"num.io.threads": "many"})):
        pass

    assert not list(scratch.iterdir())


def test_an_interrupt_leaves_nothing(scratch: Path) -> None:
    before = brokers_left()

    with pytest.raises(KeyboardInterrupt), Cluster(ClusterPlan()):
        raise KeyboardInterrupt

    assert brokers_left() == before
    assert not list(scratch.iterdir())


def test_several_brokers_have_a_controller_of_their_own(scratch: Path) -> None:
    plan = ClusterPlan(brokers=2, settings_by_broker={2: {"broker.rack": "b"}})

    with Cluster(plan) as cluster:
        cluster.create_topic("replicated", partitions=3, replicas=2)
        with cluster.describe_topics() as describing:
            described = describing.output.read()
        roles = [node.settings["process.roles"] for node in cluster.nodes]
        racks = [node.settings.get("broker.rack") for node in cluster.nodes]

    assert roles == ["broker", "broker", "controller"]
    assert racks == [None, "b", None]
    assert described.count("Isr: ") == 3
    assert not list(scratch.iterdir())


@pytest.mark.parametrize(
    "kafka",
    [
        "2.3.1",
        pytest.param("2.4.1", marks=pytest.mark.long),
        pytest.param("2.8.2", marks=pytest.mark.long),  # test_producer_ids.py has a broker of it among the short tests
    ],
)
def test_brokers_of_the_zookeeper_era(scratch: Path, kafka: str) -> None:
    plan = ClusterPlan(brokers=2, kafka=kafka, settings_by_broker={2: {"broker.rack": "b"}})

    with Cluster(plan) as cluster:
        cluster.create_topic("replicated", replica_assignment=[[2, 1], [1, 2]])
        with cluster.describe_topics() as describing:
            described = describing.output.read()
        logs = [[log.name for log in node.logs] for node in cluster.nodes]
        controllers = [
            node.id for node in cluster.brokers if "successfully elected as the controller" in controller_log(node)
        ]

    assert logs[0] == ["zookeeper.log"]
    assert {"server.log", "state-change.log", "controller.log"} <= {*logs[1], *logs[2]}
    assert "Partition: 0\tLeader: 2\tReplicas: 2,1\tIsr: 2,1" in described
    assert len(controllers) == 1
    assert not list(scratch.iterdir())


@pytest.mark.long
def test_a_killed_broker_of_the_zookeeper_era_comes_back_once_its_session_has_ended(scratch: Path) -> None:
    plan = ClusterPlan(brokers=2, kafka="2.8.2", settings={"zookeeper.session.timeout.ms": "8000"})

    with Cluster(plan) as cluster:
        broker = cluster.brokers[1]
        with faults.down(broker, by=signal.SIGKILL):
            pass
        tries, running = broker.starts, broker.is_running

    assert running
    assert tries > 2


def test_a_version_that_the_lab_does_not_have_is_named() -> None:
    with pytest.raises(LabError, match=r"1\.0\.0.*2\.8\.2"), Cluster(ClusterPlan(kafka="1.0.0")):
        pass


def test_brokers_for_a_try_run_until_they_are_ended_and_leave_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "leadsman.lab.brokers", "--topic", "tried", "--partitions", "2"]
    around = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=around) as process:
        assert process.stdout is not None
        bootstrap = process.stdout.readline().strip()
        topics = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=60).topics
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)

    assert len(topics["tried"].partitions) == 2
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []
