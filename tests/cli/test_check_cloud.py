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
        file = tmp_path / "instances.json"
        file.write_text(json.dumps(document))
        return call("check", "cloud", str(file), *words)

    return run


def test_brokers_that_are_terminated_and_restarted_pass(check) -> None:
    result = check([listed("kafka-1"), listed("kafka-2")])

    assert result.code == 0
    assert "2 instances checked, 0 with" in result.out


def test_a_broker_that_would_be_migrated_live_is_named_with_the_command_that_changes_it(check) -> None:
    result = check([listed("kafka-1"), listed("kafka-2", "MIGRATE")])

    assert result.code == 1
    assert "europe-west1-b/kafka-2" in result.out
    assert "gcloud compute instances set-scheduling kafka-2 --maintenance-policy=TERMINATE" in result.out
    assert "kafka-1" not in result.out


def test_a_broker_without_automatic_restart_is_named(check) -> None:
    result = check([listed("kafka-1", restart=False)])

    assert result.code == 1
    assert "automaticRestart is false" in result.out


def test_only_brokers_count(check) -> None:
    result = check([listed("kafka-1"), listed("web-1", "MIGRATE")], "--brokers", "kafka-*")

    assert result.code == 0


@pytest.mark.parametrize(
    ("scheduling", "code"),
    [
        ([{"on_host_maintenance": "TERMINATE", "automatic_restart": True}], 0),
        ([{"on_host_maintenance": "MIGRATE", "automatic_restart": True}], 1),
        ([{"on_host_maintenance": "TERMINATE", "automatic_restart": False}], 1),
        ([], 1),
    ],
)
def test_a_plan_is_checked_too_and_without_a_policy_means_migration(check, scheduling, code: int) -> None:
    result = check(plan(child=(planned("kafka-1", scheduling), planned("disk", [], "google_compute_disk"))))

    assert result.code == code
    assert "1 instances checked" in result.out


@pytest.mark.parametrize("document", [[], {}, plan(planned("disk", [], "google_compute_disk"))])
def test_no_instance_at_all_is_no_good_news(check, document: object) -> None:
    result = check(document)

    assert result.code == 2
    assert "names no instance" in result.err


def test_a_pattern_without_a_match_lists_the_instances(check) -> None:
    result = check([listed("kafka-1")], "--brokers", "broker-*")

    assert result.code == 2
    assert "There are: kafka-1" in result.err
