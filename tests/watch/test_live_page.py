"""The live page over HTTP: what it shows, whom it lets in, and its metrics as Prometheus reads them."""

from __future__ import annotations

import base64
import http.client
import shutil
import socket
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from leadsman.errors import LeadsmanError, UsageError
from leadsman.model import Finding, Harm, NotUnderstood, Verdict
from leadsman.watch.file_listing import FolderListing
from leadsman.watch.finding_changes import FindingHistory
from leadsman.watch.live.address import parse_address
from leadsman.watch.live.notices import notices_of
from leadsman.watch.live.server import MAX_STREAMS, READY_WITHIN, serving
from leadsman.watch.live.snapshot import (
    CaptureState,
    DestinationState,
    LiveState,
    QueryState,
    ShownFinding,
    Snapshot,
    capture_states,
    undecided_of,
    worst_first,
)
from leadsman.watch.positions import StreamPosition

from .findings import at, diagnosed, harmed

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN = "0123456789abcdef0123"
HOSTILE = "<script>alert(1)</script> \x1b[31m\u202e <img src=x onerror=alert(1)>"


def shown(title: str = "7 records lost", **more: Any) -> ShownFinding:
    history = FindingHistory()
    path = more.pop("path", "logs")
    changes = history.update([diagnosed(harmed(0, title=title, **more), until=1, path=path)], {}, at(1))
    (known,) = history.known.values()
    return ShownFinding(known=known, changes=tuple(changes), harm=(Harm.LOST,))


def snapshot(*findings: ShownFinding, **more: Any) -> Snapshot:
    source = CaptureState(
        name="logs",
        files=3,
        lag_bytes=2048,
        last_line=at(1),
        lines=400,
        not_understood=(NotUnderstood("core.bin", "no text"),),
    )
    return Snapshot(
        at=datetime.now(UTC),
        query=QueryState(started=at(0), batches=3, rounds=2, events=5, batch_seconds_total=1.5),
        open=findings,
        captures=(source,),
        destinations=(DestinationState(destination="slack at https://hooks.slack.com", sent=2, failed=1),),
        counts={("idle_disconnect", "open"): len(findings), ("idle_disconnect", "resolved"): 0},
        **more,
    )


class Page:
    """A running page."""

    def __init__(self, state: LiveState, url: str) -> None:
        self.state = state
        self.port = urlsplit(url).port

    def get(self, path: str, *, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request(method, path, headers={"Host": "localhost", **headers})
        answer = connection.getresponse()
        return answer.status, dict(answer.headers.items()), answer.read().decode()


@contextmanager
def page(
    *findings: ShownFinding, token_file: Path | None = None, address: str = "127.0.0.1:0", **more: Any
) -> Iterator[Page]:
    state = LiveState(at(0))
    state.publish(snapshot(*findings, **more))
    with serving(state, parse_address(address, token_file)) as url:
        yield Page(state, url)


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    return file


def test_the_page_shows_what_is_open_with_what_to_do_its_proof_and_its_timeline():
    with page(shown()) as running:
        status, _, html = running.get("/")

    assert status == 200
    assert all(
        text in html
        for text in ("7 records lost", "Restart the workers.", "app.log:1", "opened", "2026-02-16 12:00:00", "core.bin")
    )


def test_a_symptom_without_a_proven_cause_stands_on_the_page_as_undecided():
    seen = replace(harmed(0, verdict=Verdict.UNKNOWN, title="37 requests were lost"), next="Collect the broker logs.")
    unseen = Finding(mode="producer_id_leak", verdict=Verdict.UNKNOWN, title="No broker log", summary="")
    undecided = undecided_of([diagnosed(seen, unseen, until=1, path="logs", cluster="east"), diagnosed(until=1)])
    with page(undecided=undecided) as running:
        _, _, html = running.get("/")

    assert [each.finding for each in undecided] == [seen]
    assert all(
        text in html for text in ("Not decided", "37 requests were lost", "cluster east", "Collect the broker logs.")
    )
    assert "No broker log" not in html


def test_alerts_and_maintenance_stand_on_the_page_the_newest_first():
    rows = [
        {
            "capture": "logs",
            "at": at(minute),
            "subject": None,
            "name": name,
            "labels": list(labels.items()),
        }
        for minute, name, labels in (
            (1, "host.maintenance", {"host": "kafka-2", "provider": "google", "action": "migrate"}),
            (2, "alert.firing", {"alert": "KafkaOfflinePartitions", "severity": "page"}),
            (2, "alert.firing", {"alert": "KafkaOfflinePartitions", "severity": "page"}),
            (3, "alert.firing", {"alert": HOSTILE}),
        )
    ]
    with page(notices=notices_of(rows)) as running:
        _, _, html = running.get("/")

    shown = html[html.index("Alerts and maintenance") : html.index('id="sources-heading"')]
    assert shown.count("<li>") == 3
    assert shown.index("alert firing: KafkaOfflinePartitions (severity page)") < shown.index(
        "live migration: kafka-2 (google)"
    )
    assert "<script>" not in html


def test_lines_of_logs_do_nothing_on_the_page():
    with page(shown(HOSTILE)) as running:
        _, headers, html = running.get("/")

    assert "<script>alert" not in html
    assert "<img" not in html
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_written(method: str):
    with page() as running:
        assert {running.get(path, method=method)[0] for path in ("/", "/content", "/metrics", "/live")} == {405}


def test_every_answer_has_the_policy():
    with page() as running:
        paths = ("/", "/content", "/live.css", "/live.js", "/metrics", "/live", "/ready", "/no-such-page")

        assert all("content-security-policy" in running.get(path)[1] for path in paths)


def test_a_page_of_the_web_whose_name_was_rebound_to_loopback_reads_nothing():
    with page(shown()) as running:
        assert running.get("/content", Host="evil.example:8080")[0] == 421
        assert running.get("/content", Host=f"127.0.0.1:{running.port}")[0] == 200
        assert running.get("/content", Host=f"[::1]:{running.port}")[0] == 200


def test_with_a_token_only_probes_are_open(token_file: Path):
    basic = base64.b64encode(f"me:{TOKEN}".encode()).decode()
    wrong = base64.b64encode(b"me:wrong").decode()
    with page(shown(), token_file=token_file) as running:
        assert {running.get(path)[0] for path in ("/", "/content", "/events", "/metrics", "/live.js")} == {401}
        assert {running.get(path)[0] for path in ("/live", "/ready")} == {200}
        assert running.get("/", Authorization=f"Basic {wrong}")[0] == 401
        assert running.get("/", Authorization="Basic %%%")[0] == 401
        assert running.get("/", Authorization=TOKEN)[0] == 401
        assert running.get("/", Authorization=f"Basic {basic}")[0] == 200
        assert running.get("/metrics", Authorization=f"Bearer {TOKEN}")[0] == 200


def test_any_address_but_loopback_needs_a_token(token_file: Path):
    with pytest.raises(UsageError, match="--token-file"):
        parse_address("0.0.0.0:8080", None)

    assert parse_address("0.0.0.0:8080", token_file).token == TOKEN
    assert parse_address("[::1]:8080", None).token == ""


@pytest.mark.parametrize("text", ["8080", "127.0.0.1", "127.0.0.1:http", "host:80", "127.0.0.1:99999", ":80"])
def test_what_is_no_address_is_refused_with_an_example(text: str):
    with pytest.raises(UsageError, match=r"127\.0\.0\.1:8080"):
        parse_address(text, None)


def test_a_short_token_is_refused(tmp_path: Path):
    (tmp_path / "token").write_text("secret")

    with pytest.raises(UsageError, match="openssl rand"):
        parse_address("0.0.0.0:80", tmp_path / "token")


def test_a_port_in_use_is_one_line():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = parse_address(f"127.0.0.1:{taken.getsockname()[1]}", None)

        with pytest.raises(LeadsmanError, match="--serve"), serving(LiveState(at(0)), address):
            pass


def test_ready_is_false_before_the_first_round_and_when_rounds_stop():
    with page() as running:
        ready = running.get("/ready")[0]
        running.state.publish(replace(snapshot(), at=datetime.now(UTC) - READY_WITHIN - timedelta(seconds=1)))
        late, live = running.get("/ready")[0], running.get("/live")[0]
    with serving(LiveState(datetime.now(UTC)), parse_address("127.0.0.1:0", None)) as url:
        begun = Page(LiveState(at(0)), url).get("/ready")[0]

    assert (ready, late, live, begun) == (200, 503, 200, 503)


def test_prometheus_reads_the_metrics_and_finds_no_fault_in_their_names():
    promtool = Path(sys.executable).with_name("promtool")
    with page(shown()) as running:
        _, headers, text = running.get("/metrics")
    program = str(promtool) if promtool.exists() else shutil.which("promtool")
    assert program is not None, "no promtool: scripts/programs.sh"

    checked = subprocess.run([program, "check", "metrics"], input=text, capture_output=True, text=True, check=False)

    assert (checked.returncode, checked.stderr) == (0, "")
    assert headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'leadsman_watch_findings{mode="idle_disconnect",state="open"} 1.0' in text
    assert 'leadsman_watch_lag_bytes{capture="logs"} 2048.0' in text
    assert 'leadsman_watch_messages_total{destination="slack at https://hooks.slack.com",result="sent"} 2.0' in text
    assert "leadsman_watch_batch_seconds_sum 1.5" in text


def test_a_change_is_announced_and_an_equal_snapshot_is_not():
    with page() as running:
        connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=10)
        connection.request("GET", "/events")
        stream = connection.getresponse()
        first = [stream.readline() for _ in range(4)][2]
        running.state.publish(replace(snapshot(), at=datetime.now(UTC) + timedelta(seconds=5)))
        running.state.publish(snapshot(shown()))
        second = stream.readline()
        connection.close()

    assert (first, second) == (b"data: 1\n", b"data: 2\n")


def test_the_page_ends_at_once_while_streams_are_open():
    with page() as running:
        connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=10)
        connection.request("GET", "/events")
        began = datetime.now(UTC)
        connection.getresponse()
    connection.close()

    assert datetime.now(UTC) - began < timedelta(seconds=4)


def test_one_page_too_many_is_refused_until_later():
    with page() as running:
        connections = [http.client.HTTPConnection("127.0.0.1", running.port, timeout=10) for _ in range(MAX_STREAMS)]
        for connection in connections:
            connection.request("GET", "/events")
            connection.getresponse().readline()
        refused, content = running.get("/events")[0], running.get("/content")[0]
        for connection in connections:
            connection.close()

    assert (refused, content) == (503, 200)


def test_the_worst_is_first():
    lost, stalled, more_lost = shown("lost"), replace(shown("stalled"), harm=(Harm.STALLED,)), shown("more", subjects=9)
    unknown_harm = replace(shown("none"), harm=())

    order = [each.known.change.title for each in worst_first([unknown_harm, stalled, lost, more_lost])]

    assert order == ["more", "lost", "stalled", "none"]


def test_a_deleted_file_is_neither_followed_nor_behind(tmp_path: Path):
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text("one line\n" * 10)
    positions = FolderListing([str(tmp_path)], max_bytes=100).positions({}, 1)  # one file and one line
    (before,) = capture_states(positions, ())
    streams = [each for each in positions.values() if isinstance(each, StreamPosition)]
    (unread,) = (each for stream in streams for each in stream.files if each.read_to < each.size)
    Path(unread.path).unlink()
    (after,) = capture_states(positions, ())

    assert (before.files, before.lag_bytes) == (2, 9 * 9)
    assert (after.files, after.lag_bytes) == (1, 0)
