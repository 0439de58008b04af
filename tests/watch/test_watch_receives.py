"""`leadsman watch --listen` on real Spark: what is delivered is evidence, and stands on the page, also after a kill."""

from __future__ import annotations

import http.client
import json
import signal
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leadsman.catalogue import Mode
from leadsman.errors import LeadsmanError
from leadsman.lab.processes.ports import free_ports
from leadsman.waiting import wait_for

from .test_watch_goes_on import watching

if TYPE_CHECKING:
    from pathlib import Path

BROKEN = Mode("leaderless_partition").folder / "recorded" / "broken-java-4.3.1"
TOKEN = "0123456789abcdef0123"
WAIT = timedelta(seconds=250)

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


def migration() -> str:
    """A live migration of a host when the controller fenced the broker."""
    entry = {
        "insertId": "1d3pf4hd9vsq",
        "protoPayload": {
            "methodName": "compute.instances.migrateOnHostMaintenance",
            "resourceName": "projects/payments/zones/europe-west1-b/instances/kafka-2",
        },
        "timestamp": f"{fenced_at()}Z",
    }
    return json.dumps(entry)


def fenced_at() -> str:
    lines = (BROKEN / "brokers" / "101" / "controller.log").read_text().splitlines()
    return next(line[1:20] if line.startswith("[") else line[:19] for line in lines if "Fencing broker" in line)


def request(port: int, method: str, path: str, body: str = "") -> str:
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request(method, path, body, headers)
        return connection.getresponse().read().decode()
    except OSError:
        return ""


def test_a_delivered_maintenance_event_is_evidence_of_a_finding_also_after_a_kill(tmp_path: Path):
    listen, serve = free_ports(2)
    (tmp_path / "token").write_text(TOKEN)
    arguments = (
        *(str(BROKEN), "--to", str(tmp_path / "state"), "--serve", f"127.0.0.1:{serve}"),
        *("--listen", f"127.0.0.1:{listen}", "--listen-token-file", str(tmp_path / "token")),
    )
    with watching(*arguments, end=signal.SIGKILL):
        wait_for(
            lambda: request(listen, "POST", "/events", "[]"), timeout=WAIT, what="the webhook", error=LeadsmanError
        )
        answer = request(listen, "POST", "/events", migration())
    with watching(*arguments):
        wait_for(
            lambda: "The cloud reports maintenance (migrate)" in request(serve, "GET", "/content"),
            timeout=WAIT,
            what="the evidence",
            error=LeadsmanError,
        )
        html = request(serve, "GET", "/content")
        repeated = request(listen, "POST", "/events", migration())

    assert answer == "1 of 1 events are new.\n"
    assert repeated == "0 of 1 events are new.\n"
    assert "live migration: kafka-2 (google)" in html
