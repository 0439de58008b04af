"""`leadsman check cloud`: brokers are to be terminated and restarted, never migrated live."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path


def listed(name: str, maintenance: str = "TERMINATE", *, restart: bool = True) -> dict[str, Any]:
    """An instance as `gcloud compute instances list --format=json` has it."""
    return {
        "kind": "compute#instance",
        "name": name,
        "scheduling": {"automaticRestart": restart, "onHostMaintenance": maintenance, "preemptible": False},
        "status": "RUNNING",
        "zone": "https://www.googleapis.com/compute/v1/projects/payments/zones/europe-west1-b",
    }


def planned(name: str, scheduling: list[dict[str, Any]], kind: str = "google_compute_instance") -> dict[str, Any]:
    """A resource as `terraform show -json` has it."""
    values = {"name": name, "scheduling": scheduling}
    return {"address": f"{kind}.{name}", "mode": "managed", "type": kind, "name": name, "values": values}


def plan(*resources: dict[str, Any], child: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    """A plan with resources at its root and in one module."""
    children = [{"address": "module.kafka", "resources": list(child)}]
    return {
        "format_version": "1.2",
        "planned_values": {"root_module": {"resources": list(resources), "child_modules": children}},
    }


@pytest.fixture
def check(call, tmp_path: Path):
    """Run the check on a document."""

    def run(document: object, *words: str):
        file = tmp_path / "told.json"
        file.write_text(json.dumps(document))
        return call("check", "cloud", str(file), *words)

    return run


def test_brokers_that_are_terminated_and_restarted_pass(check) -> None:
    told = check([listed("kafka-1"), listed("kafka-2")])

    assert told.code == 0
    assert "2 instances looked at, 0 with" in told.out


def test_a_broker_that_would_be_migrated_live_is_named_with_the_command_that_changes_it(check) -> None:
    told = check([listed("kafka-1"), listed("kafka-2", "MIGRATE")])

    assert told.code == 1
    assert "europe-west1-b/kafka-2" in told.out
    assert "gcloud compute instances set-scheduling kafka-2 --maintenance-policy=TERMINATE" in told.out
    assert "kafka-1" not in told.out


def test_a_broker_that_nobody_starts_again_is_named(check) -> None:
    told = check([listed("kafka-1", restart=False)])

    assert told.code == 1
    assert "automaticRestart is false" in told.out


def test_only_brokers_count(check) -> None:
    told = check([listed("kafka-1"), listed("web-1", "MIGRATE")], "--brokers", "kafka-*")

    assert told.code == 0


@pytest.mark.parametrize(
    ("scheduling", "code"),
    [
        ([{"on_host_maintenance": "TERMINATE", "automatic_restart": True}], 0),
        ([{"on_host_maintenance": "MIGRATE", "automatic_restart": True}], 1),
        ([{"on_host_maintenance": "TERMINATE", "automatic_restart": False}], 1),
        ([], 1),
    ],
)
def test_a_plan_is_held_to_the_same_and_says_nothing_means_migration(check, scheduling, code: int) -> None:
    told = check(plan(child=(planned("kafka-1", scheduling), planned("disk", [], "google_compute_disk"))))

    assert told.code == code
    assert "1 instances looked at" in told.out


@pytest.mark.parametrize("document", [[], {}, plan(planned("disk", [], "google_compute_disk"))])
def test_no_instance_at_all_is_no_good_news(check, document: object) -> None:
    told = check(document)

    assert told.code == 2
    assert "names no instance" in told.err


def test_a_pattern_that_fits_none_lists_those_that_there_are(check) -> None:
    told = check([listed("kafka-1")], "--brokers", "broker-*")

    assert told.code == 2
    assert "There are: kafka-1" in told.err
