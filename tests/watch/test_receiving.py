"""The webhook of a watch over HTTP: what is accepted is on disk, once; everything else is refused with a reason."""

from __future__ import annotations

import base64
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from leadsman import vocabulary as v
from leadsman.lab.alerts.prometheus import alertmanager_program
from leadsman.lab.processes.ports import free_ports
from leadsman.pipeline.events import EventRow
from leadsman.pipeline.read.stream import read
from leadsman.waiting import wait_for
from leadsman.watch.live.address import parse_listen_address
from leadsman.watch.objects.listing import ObjectListing
from leadsman.watch.objects.stored_objects import CATALOG, StoredObjects
from leadsman.watch.receiving import server
from leadsman.watch.receiving.server import MAX_BODY_BYTES, Receiver, receiving

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = timedelta(seconds=30)
TOKEN = "0123456789abcdef0123"
CLOUD = Path(__file__).parents[1] / "telemetry" / "cloud"
DELIVERED = ("aws-health.json", "aws-state-change.json", "azure-scheduled.json", "google-audit.json")
WEBHOOK = Path(__file__).parents[1] / "telemetry" / "outputs" / "alertmanager.txt"


class Door:
    """A running webhook."""

    def __init__(self, url: str, folder: Path) -> None:
        self.port = urlsplit(url).port
        self.folder = folder
        self.reports: list[str] = []

    def post(
        self, body: bytes | str, *, path: str = "/events", method: str = "POST", **headers: str
    ) -> tuple[int, str]:
        """Status and text of the answer; headers with _ for -."""
        own = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
        named = {**own, **{name.replace("_", "-"): value for name, value in headers.items()}}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request(method, path, body, {name: value for name, value in named.items() if value})
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, text

    def names(self) -> list[str]:
        """The names of what is stored."""
        lines = (self.folder / CATALOG).read_text().splitlines() if (self.folder / CATALOG).exists() else []
        return [json.loads(line)["name"] for line in lines]

    def events(self) -> list[EventRow]:
        """The events of all that is stored, as a watch reads it."""
        positions = ObjectListing([str(self.folder)]).positions({}, 1)
        rows = (row for each in positions.values() for row in read(each.stream, UTC))
        return [row for row in rows if isinstance(row, EventRow) and row.name != v.FILE_READ]


@contextmanager
def running_alertmanager(folder: Path, configuration: dict[str, Any]) -> Iterator[str]:
    address = f"127.0.0.1:{free_ports(1)[0]}"
    with alertmanager_program(folder, address, configuration):
        yield address


def fire(address: str, each: dict[str, Any]) -> None:
    connection = http.client.HTTPConnection(address, timeout=20)
    connection.request("POST", "/api/v2/alerts", json.dumps([each]), {"content-type": "application/json"})
    assert connection.getresponse().status == 200
    connection.close()


@contextmanager
def opened(folder: Path) -> Iterator[Door]:
    folder.mkdir(exist_ok=True)
    reports: list[str] = []
    token = folder / "token"
    token.write_text(f"{TOKEN}\n")
    receiver = Receiver(StoredObjects(folder / "received"), "logs", TOKEN, reports.append)
    with receiving(receiver, parse_listen_address("127.0.0.1:0", token)) as url:
        door = Door(url, folder / "received")
        door.reports = reports
        yield door


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    with opened(tmp_path) as each:
        yield each


def alert(name: str = "KafkaOfflinePartitions", status: str = "firing", **more: Any) -> dict[str, Any]:
    times = {"startsAt": "2026-11-21T12:22:01Z", "endsAt": "0001-01-01T00:00:00Z"}
    return {"status": status, "labels": {"alertname": name}, "annotations": {}, **times, **more}


def delivery(*alerts: dict[str, Any]) -> str:
    return json.dumps({"receiver": "leadsman", "version": "4", "groupKey": "{}:{}", "alerts": alerts})


@pytest.mark.parametrize("name", DELIVERED)
def test_what_a_cloud_reports_is_stored_and_read(door: Door, name: str) -> None:
    status, text = door.post((CLOUD / name).read_bytes())

    assert (status, text.split()[0]) == (200, text.split()[2])
    assert {row.name for row in door.events()} == {v.HOST_MAINTENANCE}


def test_a_repeated_delivery_is_no_second_event(door: Door) -> None:
    answers = [door.post(WEBHOOK.read_bytes()) for _ in range(3)]

    assert answers == [(200, "2 of 2 events are new.\n"), *[(200, "0 of 2 events are new.\n")] * 2]
    assert sorted((row.name, row.labels["alert"]) for row in door.events()) == [
        (v.ALERT_FIRING, "KafkaOfflinePartitions"),
        (v.ALERT_RESOLVED, "KafkaUnderReplicated"),
    ]


def test_one_event_that_is_delivered_by_many_at_once_is_stored_once(door: Door) -> None:
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: door.post(delivery(alert())), range(64)))

    assert max(text for _, text in answers) == "1 of 1 events are new.\n"
    assert [status for status, _ in answers] == [200] * 64
    assert len(door.names()) == 1


def test_events_that_are_delivered_at_once_are_each_stored_with_their_own_content(door: Door) -> None:
    names = [f"alert-{number}" for number in range(64)]
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda name: door.post(delivery(alert(name))), names))

    assert {status for status, _ in answers} == {200}
    assert sorted(row.labels["alert"] for row in door.events()) == sorted(names)


def test_an_alert_that_ends_and_fires_again_is_three_events(door: Door) -> None:
    door.post(delivery(alert()))
    door.post(delivery(alert(status="resolved", endsAt="2026-11-21T12:30:00Z")))
    door.post(delivery(alert(startsAt="2026-11-21T12:40:00Z")))

    assert sorted(row.name for row in door.events()) == [v.ALERT_FIRING, v.ALERT_FIRING, v.ALERT_RESOLVED]


def test_alerts_that_a_watch_sent_itself_do_not_come_back(door: Door) -> None:
    answer = door.post(delivery(alert("LeadsmanFindingPresent"), alert()))

    assert answer == (200, "1 of 1 events are new.\n")


def test_a_list_of_scheduled_events_that_is_posted_again_adds_only_what_is_new(door: Door) -> None:
    document = json.loads((CLOUD / "azure-scheduled.json").read_text())
    door.post(json.dumps({**document, "Events": document["Events"][:1]}))

    answer = door.post(json.dumps({**document, "DocumentIncarnation": 99}))

    assert answer == (200, "1 of 2 events are new.\n")


def test_pub_sub_delivers_a_log_entry_with_the_token_in_its_url(door: Door) -> None:
    entry = json.dumps(json.loads((CLOUD / "google-audit.json").read_text())[0])
    pushed = {"message": {"data": base64.b64encode(entry.encode()).decode(), "messageId": "1"}, "subscription": "s"}

    answer = door.post(json.dumps(pushed), path=f"/events?token={TOKEN}", authorization="")

    assert answer == (200, "1 of 1 events are new.\n")
    assert [row.labels["host"] for row in door.events()] == ["kafka-2"]


REFUSED: dict[str, tuple[dict[str, str], bytes | str, int]] = {
    "no token": ({"authorization": ""}, delivery(alert()), 401),
    "a wrong token": ({"authorization": "Bearer 0123456789abcdef0124"}, delivery(alert()), 401),
    "a wrong token in the URL": ({"authorization": "", "path": "/events?token=x"}, delivery(alert()), 401),
    "a form": ({"content_type": "application/x-www-form-urlencoded"}, "a=b", 415),
    "no type": ({"content_type": ""}, delivery(alert()), 415),
    "a compressed body": ({"content_encoding": "gzip"}, delivery(alert()), 415),
    "a body that is too large": ({}, " " * (MAX_BODY_BYTES + 1), 413),
    "no body": ({}, "", 422),
    "no JSON": ({}, "{", 422),
    "no text": ({}, "\udcff".encode("utf-8", "surrogateescape"), 422),
    "a number": ({}, "1", 422),
    "another sender": ({}, '{"text": "hello"}', 422),
    "alerts without names": ({}, '{"alerts": [{}], "groupKey": ""}', 422),
    "alerts that are none": ({}, '{"alerts": 3, "groupKey": ""}', 422),
    "lists without end": ({}, "[" * 100_000, 422),
    "many events": ({}, delivery(*[alert(f"a{number}") for number in range(1001)]), 422),
    "a read": ({"method": "GET"}, "", 405),
    "another path": ({"path": "/"}, delivery(alert()), 404),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_delivery_that_cannot_be_used_is_refused_with_a_reason_and_leaves_nothing(door: Door, name: str) -> None:
    options, body, expected = REFUSED[name]

    status, text = door.post(body, **options)

    assert status == expected, text
    assert text.strip()
    assert door.names() == []


def test_a_body_without_a_length_is_bounded_too(door: Door) -> None:
    with socket.create_connection(("127.0.0.1", door.port), timeout=20) as connection:
        head = (
            f"POST /events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"
        )
        connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        with suppress(ConnectionError):
            connection.sendall(chunk * 100)
        answer = connection.recv(1000)

    assert b" 413 " in answer
    assert door.names() == []


def test_a_body_that_never_ends_is_given_up(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "BODY_SECONDS", 0.5)
    with socket.create_connection(("127.0.0.1", door.port), timeout=20) as connection:
        head = (
            f"POST /events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"
        )
        connection.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
        answer = connection.recv(1000)

    assert b" 408 " in answer


def test_a_folder_that_cannot_be_written_is_reported_and_the_sender_tries_again(tmp_path: Path) -> None:
    with opened(tmp_path) as door:
        door.folder.rename(tmp_path / "elsewhere")

        status, text = door.post(delivery(alert()))

        assert (status, text) == (503, "The events cannot be stored now.\n")
        assert len(door.reports) == 1


def test_what_was_accepted_is_there_after_a_kill(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from tests.watch.test_receiving import opened\n"
        "with opened(Path(sys.argv[1])) as door: print(door.port, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    root = Path(__file__).parents[2]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root)
    assert process.stdout is not None
    door = Door(f"http://127.0.0.1:{process.stdout.readline().strip()}/", tmp_path / "received")
    accepted = [door.post(delivery(alert(f"alert-{number}"))) for number in range(20)]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    (tmp_path / "received" / CATALOG).open("ab").write(b'{"root":"lo')

    with opened(tmp_path) as again:
        repeated = [again.post(delivery(alert(f"alert-{number}"))) for number in range(21)]

        assert [status for status, _ in accepted] == [200] * 20
        assert [text for _, text in repeated] == ["0 of 1 events are new.\n"] * 20 + ["1 of 1 events are new.\n"]
        assert len(again.events()) == 21


def test_a_real_alertmanager_delivers(door: Door, tmp_path: Path) -> None:
    webhook = {
        "url": f"http://127.0.0.1:{door.port}/events",
        "http_config": {"authorization": {"type": "Bearer", "credentials": TOKEN}},
    }
    route = {"receiver": "leadsman", "group_wait": "100ms", "group_interval": "1s", "repeat_interval": "1s"}
    configuration = {"route": route, "receivers": [{"name": "leadsman", "webhook_configs": [webhook]}]}
    with running_alertmanager(tmp_path, configuration) as address:
        fire(address, {"labels": {"alertname": "KafkaOfflinePartitions", "severity": "page"}})
        wait_for(lambda: len(door.names()) == 1, timeout=SECONDS, what="the alert")
        fire(
            address,
            {"labels": {"alertname": "KafkaOfflinePartitions", "severity": "page"}, "endsAt": "2026-11-21T12:00:00Z"},
        )
        wait_for(lambda: len(door.names()) == 2, timeout=SECONDS, what="its end")

    assert sorted(row.name for row in door.events()) == [v.ALERT_FIRING, v.ALERT_RESOLVED]
