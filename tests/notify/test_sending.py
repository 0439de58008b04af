"""A receiver that misbehaves costs one line on standard error and a bounded time, and shows no secret."""

from __future__ import annotations

import socket
import threading
import time
from typing import TYPE_CHECKING

import pytest

from leadsman.errors import UsageError
from leadsman.notify import http
from leadsman.notify import send as sending
from leadsman.notify.kind import destination_of

from .conftest import diagnosis, respond, send

if TYPE_CHECKING:
    from collections.abc import Iterator
    from http.server import BaseHTTPRequestHandler

    from .conftest import Received, Start

SECRET = "hushhush"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses and silences a hundredth as long."""
    monkeypatch.setattr(sending, "FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(http, "ATTEMPT_SECONDS", 0.2)


@pytest.fixture
def hanging() -> Iterator[int]:
    """The port of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def hook(receiver_url: str) -> str:
    return f"slack={receiver_url}"


def only(lines: list[str]) -> str:
    (line,) = lines
    assert SECRET not in line
    assert line.startswith("Not sent: 1 notification of 1 to ")
    return line


@pytest.mark.parametrize("status", [500, 502, 503, 429, 408])
def test_a_fault_of_the_server_is_tried_three_times(status: int, start: Start) -> None:
    receiver = start(lambda handler, _: respond(handler, status))

    line = only(send(diagnosis(), f"slack={receiver.url(f'/services/{SECRET}')}"))

    assert len(receiver.requests) == 3
    assert f"HTTP {status}, after 3 attempts" in line


def test_a_server_that_recovers_gets_the_message(start: Start) -> None:
    def recovering(handler: BaseHTTPRequestHandler, _: Received) -> None:
        respond(handler, 200 if len(receiver.requests) == 3 else 503)

    receiver = start(recovering)

    assert send(diagnosis(), f"slack={receiver.url('/x')}") == []


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
def test_a_refusal_is_not_tried_again(status: int, start: Start) -> None:
    receiver = start(lambda handler, _: respond(handler, status, {"error": "invalid_token", "token": SECRET}))

    line = only(send(diagnosis(), f"slack={receiver.url(f'/services/{SECRET}')}"))

    assert len(receiver.requests) == 1
    assert "invalid_token" in line


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int, start: Start) -> None:
    other = start(lambda handler, _: respond(handler, 200))
    receiver = start(lambda handler, _: respond(handler, status, headers={"Location": other.url(f"/{SECRET}")}))

    line = only(send(diagnosis(), f"webhook={receiver.url('/hook', f'me:{SECRET}')}"))

    assert other.requests == []
    assert f"HTTP {status}, a redirect" in line


def test_apprise_follows_no_redirect(start: Start) -> None:
    other = start(lambda handler, _: respond(handler, 200))
    receiver = start(lambda handler, _: respond(handler, 307, headers={"Location": other.url("/x")}))

    line = only(send(diagnosis(), f"apprise=json://me:{SECRET}@127.0.0.1:{receiver.port}/{SECRET}"))

    assert other.requests == []
    assert "apprise could not send it" in line


def test_a_server_that_hangs_costs_a_bounded_time(hanging: int) -> None:
    began = time.monotonic()

    line = only(send(diagnosis(), f"slack=http://127.0.0.1:{hanging}/{SECRET}"))

    assert time.monotonic() - began < 3
    assert "no answer in time, after 3 attempts" in line


def test_a_server_that_sends_its_answer_byte_by_byte_is_left_at_the_deadline(start: Start) -> None:
    done = threading.Event()

    def dripping(handler: BaseHTTPRequestHandler, _: Received) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        while not done.wait(0.05):
            handler.wfile.write(b"X")

    receiver = start(dripping)
    began = time.monotonic()

    line = only(send(diagnosis(), f"slack={receiver.url('/x')}", seconds=1))
    done.set()

    assert time.monotonic() - began < 2
    assert "the answer takes too long" in line or "not finished within" in line  # both end at the deadline


def test_many_messages_end_at_the_deadline(start: Start) -> None:
    def slow(handler: BaseHTTPRequestHandler, _: Received) -> None:
        time.sleep(0.1)  # reason: a receiver that takes its time
        respond(handler, 200)

    receiver = start(slow)
    began = time.monotonic()

    (line,) = sending.send_notifications([diagnosis()] * 50, [destination_of(f"slack={receiver.url('/x')}")], seconds=1)

    assert time.monotonic() - began < 2
    assert "notifications of 50 to slack at" in line


def test_one_receiver_that_hangs_does_not_delay_another(hanging: int, start: Start) -> None:
    receiver = start(lambda handler, _: respond(handler, 200))

    lines = send(diagnosis(), f"slack=http://127.0.0.1:{hanging}/x", f"teams={receiver.url('/x')}")

    assert len(receiver.requests) == 1
    assert "slack at" in only(lines)


def test_a_server_that_closes_the_connection_is_tried_again(start: Start) -> None:
    def closing(handler: BaseHTTPRequestHandler, _: Received) -> None:
        handler.close_connection = True

    receiver = start(closing)

    line = only(send(diagnosis(), f"slack={receiver.url(f'/{SECRET}')}"))

    assert len(receiver.requests) == 3
    assert "RemoteDisconnected" in line or "Connection reset" in line


def test_a_port_without_a_server_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    assert "Connection refused, after 3 attempts" in only(send(diagnosis(), f"slack=http://127.0.0.1:{port}/{SECRET}"))


def test_a_host_without_a_name_is_named() -> None:
    line = only(send(diagnosis(), f"slack=http://no-such-host.invalid/{SECRET}"))

    assert "the host's name cannot be resolved" in line


def test_a_huge_answer_is_not_read_to_its_end(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_BODY_BYTES", 100_000)
    written: list[int] = []
    began = time.monotonic()

    def huge(handler: BaseHTTPRequestHandler, _: Received) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(10**12))
        handler.end_headers()
        written.extend(handler.wfile.write(b"x" * 65_536) for _ in range(20_000))

    receiver = start(huge)

    lines = send(diagnosis(), f"slack={receiver.url('/x')}")

    assert lines == []
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("body", [b"no json", b'"text"', b"[" * 100_000, b"null"])
def test_an_answer_that_is_no_list_of_issues_creates_none(body: bytes, start: Start) -> None:
    def odd(handler: BaseHTTPRequestHandler, _: Received) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    receiver = start(odd)

    line = only(send(diagnosis(), f"github={receiver.url('/repos/acme/ops', SECRET)}"))

    assert {each.method for each in receiver.requests} == {"GET"}
    assert "the answer is no" in line


def test_a_pause_that_the_server_requests_is_kept_within_the_time_of_all(start: Start) -> None:
    receiver = start(lambda handler, _: respond(handler, 429, headers={"Retry-After": "3600"}))

    line = only(send(diagnosis(), f"slack={receiver.url('/x')}"))

    assert "HTTP 429, after 1 attempt" in line


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        f"https://hooks.slack.com/services/{SECRET}",
        f"carrier-pigeon=https://acme.com/{SECRET}",
        f"slack={SECRET}",
        f"slack=ftp://acme.com/{SECRET}",
        f"slack=file:///{SECRET}",
        f"slack=https://acme.com:port/{SECRET}",
        f"slack=https://[{SECRET}",
        f"slack=https://acme.com/{SECRET} x",
        f"opsgenie=https://api.opsgenie.com/v2/alerts?{SECRET}",
        f"opsgenie=https://{SECRET}%0d%0aX-Header:1@api.opsgenie.com/v2/alerts",
        f"github=https://{SECRET}@api.github.com/acme",
        f"jira=https://me:{SECRET}@acme.atlassian.net/",
        f'jira=https://me:{SECRET}@acme.atlassian.net/?project=A"OR',
        f"apprise={SECRET}",
    ],
)
def test_a_destination_that_cannot_be_used_is_refused_without_its_url(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        destination_of(text)

    assert SECRET not in str(raised.value).replace(f"not {SECRET!r}", "")
