"""A running Alertmanager takes the alert of a finding, routes it by the generated routes, and ends it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

from leadsman.catalogue import every_alert
from leadsman.errors import LabError
from leadsman.lab.alerts.prometheus import monitoring
from leadsman.prevent.alerts.alertmanager import alertmanager_document
from leadsman.prevent.alerts.coverage import coverage
from leadsman.prevent.alerts.exporter import CHOICES
from leadsman.waiting import wait_for

from .conftest import hostile, send

if TYPE_CHECKING:
    from pathlib import Path


def alerts(address: str) -> list[dict[str, Any]]:
    with urlopen(f"{address}/api/v2/alerts") as response:
        return list(json.load(response))


def test_alertmanager_takes_a_finding_once_with_its_labels_and_an_end(tmp_path: Path) -> None:
    routes = alertmanager_document(coverage(CHOICES, every_alert()))
    with monitoring(tmp_path, targets=[], rules={}, alertmanager=routes) as running:
        lines = [
            *send(hostile(), f"alertmanager={running.alertmanager}", page_url="https://acme.com/report.html"),
            *send(hostile(), f"alertmanager={running.alertmanager}/"),
        ]
        found = wait_for(
            lambda: alerts(running.alertmanager), timeout=timedelta(seconds=10), what="the alert", error=LabError
        )

    (alert,) = found
    labels = alert["labels"]
    assert lines == []
    assert alert["status"]["state"] in {"active", "unprocessed"}
    assert (labels["mode"], labels["severity"], labels["rules"]) == ("idle_disconnect", "page", "leadsman")
    assert labels["cluster"] == "prod\\x0a<!channel>"
    assert labels["alertname"] == "LeadsmanFindingPresent"
    assert datetime.fromisoformat(alert["endsAt"]) - datetime.now(UTC) > timedelta(hours=3)
