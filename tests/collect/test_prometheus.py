"""`collect prometheus` against a server of our own that answers as an exporter and as Prometheus do."""

from __future__ import annotations

import json
import threading
import time
from datetime import timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner

from leadsman.cli.commands.collect import command
from leadsman.collect.collectors import prometheus

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from leadsman.pipeline.events import EventRow

    Serve = Callable[[Callable[[socket.socket], None]], str]

SCRAPE = "# TYPE kafka_server_replicamanager_produceridcount gauge\nkafka_server_replicamanager_produceridcount 42.0\n"


class Answers(BaseHTTPRequestHandler):
    """An exporter below /metrics, a Prometheus below /api, and a door that only one login opens."""

    requested_paths: list[str] = []  # noqa: RUF012 - one server a test

    def do_GET(self) -> None:
        self.requested_paths.append(self.path)
        path = urlsplit(self.path).path
        if path == "/guarded/metrics" and self.headers["Authorization"] != "Basic bWU6aHVudGVyMg==":
            self.send_error(401, "Unauthorized")
        elif path.endswith("/metrics"):
            self._report(SCRAPE)
        else:
            (start,) = parse_qs(urlsplit(self.path).query)["start"]
            series = {"metric": {"__name__": "up", "instance": "b-1:7071"}, "values": [[int(start), "1"]]}
            self._report(json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [series]}}))

    def _report(self, text: str) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    Answers.requested_paths = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{running.server_port}"
        running.shutdown()


def collected(*words: str) -> int:
    answer = CliRunner().invoke(command, ["prometheus", *words], standalone_mode=False)
    assert answer.exception is None, answer.output
    return int(answer.return_value or 0)


def test_a_scrape_is_of_whom_was_scraped(server: str, rows: Callable[[Path], list[EventRow]], tmp_path: Path) -> None:
    collected(f"http://{server}/metrics", "--out", str(tmp_path / "c"))

    (counted,) = [row for row in rows(tmp_path / "c") if row.name == "producers.counted"]

    assert (counted.value, counted.subject, counted.labels["via"]) == (42.0, server, "metric")
    assert counted.at is not None


def test_a_series_of_scrapes_has_a_time_each(
    server: str, rows: Callable[[Path], list[EventRow]], tmp_path: Path
) -> None:
    collected(f"http://{server}/metrics", "--out", str(tmp_path / "c"), "--repeat", "200ms", "--for", "900ms")

    times = [row.at for row in rows(tmp_path / "c") if row.name == "producers.counted"]

    assert len(times) >= 3
    assert times == sorted({at for at in times if at is not None})


def test_a_server_is_queried_for_what_matters(
    server: str, rows: Callable[[Path], list[EventRow]], tmp_path: Path
) -> None:
    code = collected(server, "--last", "10m", "--out", str(tmp_path / "c"))

    assert code == 0
    assert any("produceridcount" in path for path in Answers.requested_paths)
    assert {(row.subject, row.labels["metric"]) for row in rows(tmp_path / "c") if row.name == "metric"} == {
        ("b-1:7071", "up")
    }


def test_a_login_in_the_url_opens_the_door_and_is_not_kept(server: str, tmp_path: Path) -> None:
    code = collected(f"http://me:hunter2@{server}/guarded/metrics", "--out", str(tmp_path / "c"))

    assert code == 0
    assert [path for path in (tmp_path / "c").rglob("*.*") if "hunter2" in path.read_text()] == []


def test_a_header_is_sent_and_not_kept(server: str, tmp_path: Path) -> None:
    header = "Authorization: Basic bWU6aHVudGVyMg=="

    code = collected(f"http://{server}/guarded/metrics", "--header", header, "--out", str(tmp_path / "c"))

    assert code == 0
    assert [path for path in (tmp_path / "c").rglob("*.*") if "bWU6aHVudGVyMg" in path.read_text()] == []


def test_a_refusal_is_the_reason_that_is_noted(
    server: str, rows: Callable[[Path], list[EventRow]], tmp_path: Path
) -> None:
    code = collected(f"http://{server}/guarded/metrics", "--out", str(tmp_path / "c"))

    (missing,) = [row for row in rows(tmp_path / "c") if row.name == "item.not_collected"]
    assert code == 2
    assert str(missing.text).startswith("HTTP 401 Unauthorized")


def test_a_refused_connection_is_noted(rows: Callable[[Path], list[EventRow]], tmp_path: Path) -> None:
    collected("http://127.0.0.1:1/metrics", "--out", str(tmp_path / "c"))

    (missing,) = [row for row in rows(tmp_path / "c") if row.name == "item.not_collected"]

    assert str(missing.text) == "127.0.0.1:1 does not respond: [Errno 111] Connection refused"


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/x",
        "file:///etc/passwd",
        "http://",
        "http://[",
        "http://host:99999/x",
        "http://host:a/x",
        "http://a b/",
    ],
)
def test_what_is_no_url_is_bad_usage(url: str) -> None:
    answer = CliRunner().invoke(command, ["prometheus", url], standalone_mode=False)

    assert "is not an HTTP URL" in str(answer.exception)


@pytest.mark.parametrize("header", ["Authorization", "a b: c", "A: b\r\nC: d", ": c", "A: \u00fc"])
def test_a_header_that_no_server_reads_is_bad_usage(header: str) -> None:
    answer = CliRunner().invoke(command, ["prometheus", "http://host/x", "--header", header], standalone_mode=False)

    assert "--header takes NAME: VALUE" in str(answer.exception)


BODY = b"HTTP/1.1 200 OK\r\n\r\n"


def reads(connection: socket.socket, text: bytes) -> None:
    connection.recv(4096)
    connection.sendall(text)


def sends_for_ever(connection: socket.socket) -> None:
    reads(connection, BODY)
    while True:
        connection.sendall(b"up 1\n" * 1000)


def sends_byte_by_byte(connection: socket.socket) -> None:
    reads(connection, BODY)
    while True:
        connection.sendall(b"a")
        time.sleep(0.01)  # reason: the server is slow


def sends_headers_byte_by_byte(connection: socket.socket) -> None:
    reads(connection, b"HTTP/1.1 200 OK\r\nA: ")
    while True:
        connection.sendall(b"a")
        time.sleep(0.01)  # reason: the server is slow


def not_collected(capture: Path, rows: Callable[[Path], list[EventRow]]) -> str:
    (missing,) = [row for row in rows(capture) if row.name == "item.not_collected"]
    return str(missing.text)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (partial(reads, text=b"\x00\xff rubbish\x1b[31m\n"), "answers, but not in HTTP"),
        (partial(reads, text=b""), "closes the connection without a response in HTTP"),
        (partial(reads, text=b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nup 1\n"), "in the middle of the response"),
        (
            partial(reads, text=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nup 1\n"),
            "in the middle of the response",
        ),
        (
            partial(reads, text=b"HTTP/1.1 302 Found\r\nLocation: http://other/\r\n\r\n"),
            "Give the new URL: http://other/",
        ),
        (partial(reads, text=BODY + b"up 1\n" * 100_000), "The response exceeds 0 MiB"),
        (sends_for_ever, "The response exceeds 0 MiB"),
        (sends_byte_by_byte, "takes longer than 1 s"),
        (sends_headers_byte_by_byte, "takes longer than 1 s"),
    ],
)
def test_a_response_that_is_no_scrape_leaves_the_reason_alone(  # noqa: PLR0917 - pytest passes by name
    serve: Serve,
    rows: Callable[[Path], list[EventRow]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: Callable[[socket.socket], None],
    why: str,
) -> None:
    monkeypatch.setattr(prometheus, "MAX_RESPONSE_BYTES", 100_000)
    monkeypatch.setattr(prometheus, "RESPONSE_TIMEOUT", timedelta(seconds=1))

    code = collected(f"http://{serve(answer)}/metrics", "--out", str(tmp_path / "c"))

    (file,) = (tmp_path / "c" / "prometheus").iterdir()
    assert code == 2
    assert why in not_collected(tmp_path / "c", rows)
    assert len(file.read_text().splitlines()) == 3


def test_a_scrape_that_fails_leaves_the_earlier_ones_of_the_series(serve: Serve, tmp_path: Path) -> None:
    answers = iter([BODY + SCRAPE.encode(), b"rubbish\n"])

    code = collected(
        f"http://{serve(lambda connection: reads(connection, next(answers, b'')))}/metrics",
        *("--out", str(tmp_path / "c"), "--repeat", "100ms", "--for", "250ms"),
    )

    (file,) = (tmp_path / "c" / "prometheus").iterdir()
    assert code == 3
    assert file.read_text().count("produceridcount 42.0") == 1


def test_what_a_server_sends_does_not_act_on_the_terminal(serve: Serve, tmp_path: Path) -> None:
    answer = partial(reads, text=b"HTTP/1.1 500 \x1b[31mBoom\r\n\r\n<html>\x1b]0;pwn\x07</html>")
    url = f"http://{serve(answer)}/metrics"

    result = CliRunner().invoke(command, ["prometheus", url, "--out", str(tmp_path / "c")])

    assert "\\x1b]0;pwn\\x07" in result.output
    assert "\x1b" not in result.output
