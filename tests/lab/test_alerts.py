"""Alerts on real brokers, clients and hosts: they fire while a failure lasts, and end with its cure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leadsman.lab.alerts.measure import measure
from leadsman.lab.alerts.table import render
from leadsman.lab.alerts.trials import TRIALS, AlertTrial

DOCS = Path(__file__).parents[2] / "docs"
MEASURED = json.loads((DOCS / "alerts.json").read_text())
EXPECTED = {
    "producer_id_leak:broken": "KafkaProducerIdsKeepGrowing",
    "producer_id_leak:broken_out_of_memory": "KafkaProducerIdsFillHeap",
    "leaderless_partition:broken": "KafkaPartitionsWithoutReachableLeader",
    "idle_disconnect:broken": "KafkaRecordsLost",
    "idle_disconnect:broken_silent": "KafkaRecordsLost",
    "idle_disconnect:broken_stalled": "KafkaRecordsLost",
    "stale_neighbour:broken": "HostConnectionsStuckInSynRecv",
    "stale_neighbour:broken_healed": "HostConnectionsStuckInSynRecv",
    "stale_neighbour:wrong_entry_unused": "HostKeepsNeighbourEntriesForEver",
}


def trial(name: str) -> AlertTrial:
    """The trial of a mode's variant."""
    return next(each for each in TRIALS if each.name == name)


def fired(name: str) -> set[str]:
    """Our own alerts that fired in a measured run; those of public rule files have the file's name before theirs."""
    return {alert for alert in MEASURED[name]["alerts"] if "/" not in alert}


def test_the_page_shows_the_measured_figures() -> None:
    page = (DOCS / "prevention.md").read_text()

    assert render(MEASURED) in page, "Write it again: python -m leadsman.lab.alerts --only"


@pytest.mark.parametrize("name", EXPECTED)
def test_each_measured_failure_fired_its_alert(name: str) -> None:
    assert EXPECTED[name] in MEASURED[name]["alerts"]


@pytest.mark.parametrize("variant", ["cured", "cured_late", "fleet", "big_records", "transactional"])
def test_no_measured_near_miss_of_the_leak_fired(variant: str) -> None:
    assert fired(f"producer_id_leak:{variant}") == set()


@pytest.mark.parametrize("variant", ["cured", "cured:leadsman_clients", "benign_close"])
def test_no_record_was_lost_and_no_alert_fired_where_the_disconnect_is_cured_or_harmless(variant: str) -> None:
    assert MEASURED[f"idle_disconnect:{variant}"]["harm"].get("lost", 0) == 0
    assert fired(f"idle_disconnect:{variant}") == set()


def test_no_alert_on_lost_records_fired_in_a_restart_where_clients_retry() -> None:
    assert MEASURED["idle_disconnect:broker_restart:retries=10"]["harm"].get("lost", 0) == 0
    assert not {"KafkaRecordsLost", "KafkaRecordsLostSlowly"} & fired("idle_disconnect:broker_restart:retries=10")


@pytest.mark.parametrize(
    "variant", ["cured", "queue_full", "syn_dropped", "broker_stopped", "wrong_address", "black_hole"]
)
def test_no_measured_host_reported_connections_that_do_not_stay_in_syn_recv(variant: str) -> None:
    assert "HostConnectionsStuckInSynRecv" not in fired(f"stale_neighbour:{variant}")


@pytest.mark.parametrize("variant", ["syn_ack_dropped", "asymmetric_route"])
def test_a_measured_host_whose_answers_are_lost_otherwise_is_reported_too(variant: str) -> None:
    assert "HostConnectionsStuckInSynRecv" in fired(f"stale_neighbour:{variant}")


def test_every_panel_of_hosts_and_of_clients_had_data_in_some_measured_run() -> None:
    idle = [MEASURED[f"idle_disconnect:{each}"]["panels"] for each in ("broken", "cured:leadsman_clients")]
    stale = MEASURED["stale_neighbour:broken"]["panels"]["leadsman-stale-neighbour"]

    seen = {title for run in idle for title, has_data in run["leadsman-idle-disconnect"].items() if has_data}

    assert seen == set(idle[0]["leadsman-idle-disconnect"])
    assert all(stale.values())


@pytest.mark.parametrize("name", ["producer_id_leak:broken", "leaderless_partition:broken"])
def test_the_measured_dashboard_of_the_mode_had_data_but_for_what_the_lab_does_not_have(name: str) -> None:
    mode = MEASURED[name]["mode"].replace("_", "-")

    empty = {title for title, has_data in MEASURED[name]["panels"][f"leadsman-{mode}"].items() if not has_data}

    assert empty <= {"CPU steal", "Leader elections within ten minutes"}


@pytest.mark.lab
@pytest.mark.long
@pytest.mark.parametrize("name", ["producer_id_leak:broken", "leaderless_partition:broken"])
def test_the_alert_fires_on_a_real_broker_and_ends_with_the_cure(name: str) -> None:
    figures = measure(trial(name), {}, print)

    assert_it_fired_and_ended(figures, EXPECTED[name])


@pytest.mark.lab
@pytest.mark.parametrize(
    "name", ["idle_disconnect:broken", pytest.param("stale_neighbour:broken_healed", marks=pytest.mark.long)]
)
def test_the_alert_fires_on_a_real_client_or_host_and_ends_with_the_cure(name: str) -> None:
    figures = measure(trial(name), {}, print)

    assert_it_fired_and_ended(figures, EXPECTED[name])


def assert_it_fired_and_ended(figures: dict[str, Any], alert: str) -> None:
    seen = figures["alerts"][alert]
    assert 0 <= seen["fired"] < figures["cured"]
    assert seen["ended"] is not None
