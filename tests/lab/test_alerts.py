"""Alerts on real brokers under a real Prometheus: they fire while the failure lasts, and end with its cure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leadsman.lab.alerts.measure import TRIALS, Trial, measure
from leadsman.lab.alerts.table import render

DOCS = Path(__file__).parents[2] / "docs"
MEASURED = json.loads((DOCS / "alerts.json").read_text())
EXPECTED = {
    "producer_id_leak:broken": "KafkaProducerIdsKeepGrowing",
    "producer_id_leak:broken_out_of_memory": "KafkaProducerIdsFillHeap",
    "leaderless_partition:broken": "KafkaPartitionsWithoutReachableLeader",
}


def trial(name: str) -> Trial:
    """The trial of a mode's variant."""
    return next(each for each in TRIALS if f"{each.mode}:{each.variant}" == name)


def test_the_page_shows_the_measured_figures() -> None:
    page = (DOCS / "prevention.md").read_text()

    assert render(MEASURED) in page, "Write it again: python -m leadsman.lab.alerts --only"


@pytest.mark.parametrize("name", EXPECTED)
def test_each_measured_failure_fired_its_alert(name: str) -> None:
    assert EXPECTED[name] in MEASURED[name]["alerts"]


@pytest.mark.parametrize("variant", ["cured", "cured_late", "fleet", "big_records", "transactional"])
def test_no_measured_near_miss_of_the_leak_fired(variant: str) -> None:
    fired = [name for name in MEASURED[f"producer_id_leak:{variant}"]["alerts"] if "/" not in name]

    assert fired == []


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

    alert = figures["alerts"][EXPECTED[name]]
    assert 0 <= alert["fired"] < figures["cured"]
    assert alert["ended"] is not None
