"""Alertmanager itself sends each alert to its owner, and is silent about the symptoms of a cause."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.request import Request, urlopen

import pytest

from leadsman.catalogue import every_alert
from leadsman.errors import LabError
from leadsman.lab.alerts.prometheus import Monitoring, monitoring
from leadsman.prevent.alerts.alertmanager import alertmanager_document
from leadsman.prevent.alerts.coverage import coverage
from leadsman.prevent.alerts.exporter import CHOICES, Exporter
from leadsman.prevent.alerts.write import write_folder
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DOWN = {"alertname": "HostUnreachable", "severity": "page", "owner": "hosts", "host": "broker-3"}
LEADERLESS = {"alertname": "KafkaPartitionsWithoutReachableLeader", "severity": "page", "owner": "brokers"}
COMMITS = {"alertname": "KafkaConsumerCommitsFail", "severity": "page", "owner": "services"}
THREAD = {"alertname": "KafkaStreamsThreadDead", "severity": "page", "owner": "services", "host": "orders-1"}
BROKER = {"alertname": "KafkaBrokerUnreachable", "severity": "ticket", "owner": "brokers", "host": "broker-3"}
OTHER_BROKER = {"alertname": "KafkaBrokerLeadsNothing", "severity": "ticket", "owner": "brokers", "host": "broker-1"}


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Monitoring]:
    """A running Alertmanager with the routes and inhibition rules of all exporters."""
    routes = alertmanager_document(coverage(CHOICES, every_alert()))
    with monitoring(tmp_path, targets=[], rules={}, alertmanager=routes) as both:
        yield both


def states(running: Monitoring, *alerts: dict[str, str], expected: dict[str, str]) -> dict[str, str]:
    """What Alertmanager does with alerts that fire at once: receivers, or what inhibits them.

    Alertmanager finds out what inhibits an alert after it has taken the alert: this waits for what is expected.
    """
    body = json.dumps([{"labels": {"rules": "leadsman", **alert}} for alert in alerts]).encode()
    address = f"{running.alertmanager}/api/v2/alerts"
    urlopen(Request(address, data=body, headers={"Content-Type": "application/json"})).close()
    with suppress(LabError):
        wait_for(
            lambda: running.notified() == expected, timeout=timedelta(seconds=10), what="the alerts", error=LabError
        )
    return running.notified()


def test_a_hosts_failure_does_not_page_for_what_ran_on_it(running: Monitoring) -> None:
    expected = {
        "HostUnreachable": "leadsman-hosts-page",
        "KafkaBrokerUnreachable": "inhibited by HostUnreachable",
        "KafkaBrokerLeadsNothing": "leadsman-brokers-ticket",
    }

    assert states(running, DOWN, BROKER, OTHER_BROKER, expected=expected) == expected


def test_partitions_without_leader_do_not_page_for_commits_but_for_dead_threads(running: Monitoring) -> None:
    expected = {
        "KafkaPartitionsWithoutReachableLeader": "leadsman-brokers-page",
        "KafkaConsumerCommitsFail": "inhibited by KafkaPartitionsWithoutReachableLeader",
        "KafkaStreamsThreadDead": "leadsman-services-page",
    }

    assert states(running, LEADERLESS, COMMITS, THREAD, expected=expected) == expected


def test_partitions_of_another_cluster_inhibit_nothing(running: Monitoring) -> None:
    expected = {
        "KafkaPartitionsWithoutReachableLeader": "leadsman-brokers-page",
        "KafkaConsumerCommitsFail": "leadsman-services-page",
    }

    found = states(running, {**LEADERLESS, "cluster": "a"}, {**COMMITS, "cluster": "b"}, expected=expected)

    assert found == expected


@pytest.mark.parametrize(
    ("severity", "owner", "receiver"),
    [
        ("page", "brokers", "leadsman-brokers-page"),
        ("ticket", "services", "leadsman-services-ticket"),
        ("info", "hosts", "leadsman-nowhere"),
    ],
)
def test_each_owner_and_severity_has_a_receiver(
    severity: str, owner: str, receiver: str, *, tmp_path: Path, program
) -> None:
    write_folder(coverage([Exporter.JMX], every_alert()), tmp_path / "alerts")
    file = f"--config.file={tmp_path / 'alerts' / 'alertmanager.yml'}"

    done = program(
        "amtool", "config", "routes", "test", file, "rules=leadsman", f"severity={severity}", f"owner={owner}"
    )

    assert done.stdout.strip() == receiver
