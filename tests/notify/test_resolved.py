"""A finding that is watched: its end reaches each kind of receiver in the receiver's own way."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from leadsman.model import Life
from leadsman.notify.http import Exchange
from leadsman.notify.kind import Notification, destination_of, find_kind
from leadsman.report.message.message import message_about

from .conftest import diagnosis, respond

if TYPE_CHECKING:
    from http.server import BaseHTTPRequestHandler

    from .conftest import Received, Receiver, Start

ID = "idle_disconnect-0123456789ab"


def deliver(receiver: Receiver, kind: str, life: Life, *, path: str = "", credentials: str = "") -> None:
    given = diagnosis()
    message = replace(message_about(given, given.findings[0]), reference=f"{ID}.2")
    destination = destination_of(f"{kind}={receiver.url(path, credentials)}")
    exchange = Exchange(destination=destination, deadline=time.monotonic() + 20)
    find_kind(kind).deliver(exchange, destination, Notification(id=ID, message=message, life=life, key=f"{ID}.2"))


@pytest.fixture
def receiver(start: Start) -> Receiver:
    return start(lambda handler, _received: respond(handler, 202, {}))


def test_pagerduty_resolves_the_incident_of_the_same_key(receiver: Receiver) -> None:
    deliver(receiver, "pagerduty", Life.OPENED, path="/v2/enqueue", credentials="KEY")
    deliver(receiver, "pagerduty", Life.RESOLVED, path="/v2/enqueue", credentials="KEY")

    events = [each.json for each in receiver.requests]
    assert [each["event_action"] for each in events] == ["trigger", "resolve"]
    assert {each["dedup_key"] for each in events} == {ID}


def test_opsgenie_closes_the_alert_by_its_alias(receiver: Receiver) -> None:
    deliver(receiver, "opsgenie", Life.OPENED, path="/v2/alerts", credentials="KEY")
    deliver(receiver, "opsgenie", Life.RESOLVED, path="/v2/alerts", credentials="KEY")

    opened, closed = receiver.requests
    assert opened.json["alias"] == ID
    assert closed.path == f"/v2/alerts/{ID}/close?identifierType=alias"
    assert closed.headers["Authorization"] == "GenieKey KEY"


def test_a_webhook_gets_what_happened_and_the_key_of_the_change(receiver: Receiver) -> None:
    deliver(receiver, "webhook", Life.RESOLVED, path="/hook")

    document = receiver.only.json
    assert (document["id"], document["life"], document["key"]) == (ID, "resolved", f"{ID}.2")


@pytest.mark.parametrize("kind", ["slack", "teams"])
def test_a_message_for_people_shows_the_key_by_which_they_know_a_second_one(kind: str, receiver: Receiver) -> None:
    deliver(receiver, kind, Life.OPENED, path="/hook")

    assert f"({ID}.2)" in receiver.only.body.decode()


@pytest.mark.parametrize(
    ("kind", "path", "credentials"),
    [("github", "/repos/acme/orders", "TOKEN"), ("jira", "/?project=OPS", "me:TOKEN")],
)
def test_issues_are_not_closed_by_a_program(kind: str, path: str, credentials: str, receiver: Receiver) -> None:
    deliver(receiver, kind, Life.RESOLVED, path=path, credentials=credentials)

    assert receiver.requests == []


def test_grafana_keeps_one_annotation_of_a_finding(start: Start) -> None:
    annotations: list[dict[str, object]] = []

    def grafana(handler: BaseHTTPRequestHandler, received: Received) -> None:
        if received.method == "POST":
            annotations.append({"id": 7})
        respond(handler, 200, annotations if received.method == "GET" else {"message": "Annotation added", "id": 7})

    receiver = start(grafana)
    deliver(receiver, "grafana", Life.OPENED, path="/monitoring", credentials="TOKEN")
    deliver(receiver, "grafana", Life.RESOLVED, path="/monitoring", credentials="TOKEN")

    _, added, search, changed = receiver.requests
    assert (added.method, added.path) == ("POST", "/monitoring/api/annotations")
    assert parse_qs(urlsplit(search.path).query)["tags"] == ["leadsman", "finding", ID]
    assert (changed.method, changed.path) == ("PATCH", "/monitoring/api/annotations/7")
    assert {"leadsman", "finding", ID, "idle_disconnect"} == set(changed.json["tags"])
    assert changed.json["time"] == 1_608_451_200_000
    assert changed.json["timeEnd"] >= changed.json["time"]
