"""`leadsman diagnose --notify` sends after the output, and changes no exit code."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BROKEN = "broken-kafka-python"


@pytest.fixture
def hook() -> Iterator[tuple[str, list[Any]]]:
    """The URL of a webhook, and the documents that arrive there."""
    documents: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            documents.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def do_GET(self) -> None:
            """No annotation is known yet."""
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"[]")

        def log_message(self, *_arguments: object) -> None:
            """Print nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/hook", documents
    server.shutdown()
    server.server_close()


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_present_finding_is_sent_with_the_path_of_its_page(call, recorded, hook, tmp_path: Path) -> None:
    url, documents = hook

    result = call("diagnose", recorded(BROKEN), "--out", "report", "--notify", f"webhook={url}")

    (document,) = documents
    assert result.code == 1
    assert document["mode"] == "idle_disconnect"
    assert document["link"] == str(tmp_path / "report" / "report.html")
    assert 1 <= len(document["proof"]) <= 3


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_finding_of_real_logs_reaches_every_kind(call, recorded, hook) -> None:
    url, documents = hook
    kinds = ["alertmanager", "grafana", "opsgenie", "pagerduty", "slack", "teams", "webhook"]
    options = [word for kind in kinds for word in ("--notify", f"{kind}={url.replace('//', '//token@')}")]

    result = call("diagnose", recorded(BROKEN), *options)

    assert result.err == ""
    assert result.code == 1
    assert len(documents) == len(kinds)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_receiver_that_fails_is_one_line_and_the_exit_code_stays(call, recorded, hook) -> None:
    url, documents = hook
    failing = "webhook=http://me:hushhush@127.0.0.1:1/hushhush"

    result = call(
        "diagnose",
        recorded(BROKEN),
        "--notify",
        failing,
        "--notify",
        f"webhook={url}",
        "--notify-link",
        "https://x.com/r",
    )

    lines = [line for line in result.err.splitlines() if "Not sent" in line]
    assert result.code == 1
    assert documents[0]["link"] == "https://x.com/r"
    assert len(lines) == 1
    assert "127.0.0.1:1" in lines[0]
    assert "hushhush" not in result.err + result.out


def test_a_destination_that_cannot_be_used_is_known_before_the_diagnosis(call, tmp_path: Path) -> None:
    result = call("diagnose", tmp_path, "--notify", "opsgenie=https://api.opsgenie.com/v2/alerts")

    assert result.code == 2
    assert "credentials" in result.err


def test_a_link_is_a_url(call, tmp_path: Path) -> None:
    result = call("diagnose", tmp_path, "--notify-link", "report.html")

    assert result.code == 2
    assert "--notify-link" in result.err


def test_the_settings_show_the_kind_of_a_destination_and_not_its_url(call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEADSMAN_DIAGNOSE_NOTIFY", "slack=https://hooks.slack.com/services/hushhush")

    result = call("config")

    assert "slack=[hidden]" in result.out
    assert "hushhush" not in result.out


@pytest.mark.parametrize("name", ["markdown", "slack"])
@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_the_message_is_printed_to_paste(name: str, call, recorded) -> None:
    result = call("diagnose", recorded(BROKEN), "--format", name)

    assert result.code == 1
    assert "Idle disconnect" in result.out
    assert "Do now" in result.out
    assert "Proof" in result.out
