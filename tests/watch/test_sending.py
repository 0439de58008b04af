"""Messages through kills, outages and refusals: sent at least once, and known by their key where they come twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from leadsman.catalogue import every_alert
from leadsman.errors import LabError
from leadsman.lab.alerts.prometheus import monitoring
from leadsman.lab.processes.webhook_receiver import receiving
from leadsman.notify.kind import destination_of
from leadsman.prevent.alerts.alertmanager import alertmanager_document
from leadsman.prevent.alerts.coverage import coverage
from leadsman.prevent.alerts.exporter import CHOICES
from leadsman.waiting import wait_for
from leadsman.watch.finding_changes import FindingHistory, LifeTimes, reported
from leadsman.watch.sending.messages import message_json, message_of_change
from leadsman.watch.sending.sender import REFUSALS, destination_key, senders
from leadsman.watch.state.findings_file import FindingsFile

from .findings import diagnosed, harmed

PROCESS = Path(__file__).parent / "sending_process.py"
FINDINGS = 40
KILLS = 20
WAIT = timedelta(seconds=60)


class Sending:
    """A file of findings, and a sender beside it, as in a watch."""

    def __init__(self, path: Path, url: str) -> None:
        self.destination = destination_of(url)
        self.path = path
        self.file = FindingsFile(path)
        self.history = FindingHistory(LifeTimes(updated_every=timedelta()))
        self.lines: list[str] = []

    def see(self, *harm: float, until: float) -> None:
        changes = self.history.update([diagnosed(harmed(*harm), until=until)], {}, datetime.now(UTC))
        known = self.history.known
        messages = [(each, message_json(message_of_change(each, known[each.id]))) for each in changes]
        news = [each.key for each in reported(changes)]
        self.file.save(messages, known.values(), news=news, destinations=[destination_key(self.destination)])


@pytest.mark.timeout(300)
def test_after_kills_at_any_point_every_message_came_and_none_twice_under_another_key(tmp_path: Path):
    chance = random.Random()
    path = tmp_path / "findings.sqlite"
    kills = 0
    with receiving() as receiver:
        while True:
            process = subprocess.Popen([sys.executable, PROCESS, path, receiver.url], stdout=subprocess.PIPE, bufsize=0)
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
            lives_seconds = chance.uniform(0, chance.choice((0.02, 0.1, 0.3)))  # it pauses for 0.05 after each round
            try:
                output, _ = process.communicate(timeout=lives_seconds if kills < KILLS else 120)
                break
            except subprocess.TimeoutExpired:
                os.kill(process.pid, signal.SIGKILL)
                process.communicate()
                kills += 1

    by_key = {each["key"]: each for each in receiver.accepted}
    opened = Counter(each["id"] for each in by_key.values() if each["life"] == "opened")
    resolved = Counter(each["id"] for each in by_key.values() if each["life"] == "resolved")
    assert (process.returncode, output) == (0, b"done\n")
    assert kills > KILLS / 4
    assert all(by_key[each["key"]] == each for each in receiver.accepted)
    assert set(opened) == set(resolved)
    assert set(opened.values()) == set(resolved.values()) == {1}
    assert sum(findings_in(each["title"]) for each in by_key.values() if each["life"] == "opened") == FINDINGS


def findings_in(title: str) -> int:
    """How many findings a message is about."""
    count, _, rest = title.partition(" ")
    return int(count) if rest.startswith("findings at once") else 1


def test_an_unreachable_receiver_gets_its_messages_in_order_when_it_answers_again(tmp_path: Path):
    with receiving() as receiver:
        receiver.status_of = lambda number: 503 if number <= 2 else 204
        sending = Sending(tmp_path / "findings.sqlite", receiver.url)
        with senders(sending.path, [sending.destination], sending.lines.append):
            sending.see(0, until=1)
            sending.see(0, until=60)
            wait_for(lambda: len(receiver.accepted) == 2, timeout=WAIT, what="both messages")

    assert [each["life"] for each in receiver.accepted] == ["opened", "resolved"]
    assert len(sending.lines) == 2
    assert "HTTP 503" in sending.lines[0]
    assert "/hook" not in sending.lines[0]


def test_a_message_that_is_refused_for_good_is_given_up_and_the_next_one_is_sent(tmp_path: Path):
    with receiving() as receiver:
        receiver.status_of = lambda number: 400 if number <= REFUSALS else 204
        sending = Sending(tmp_path / "findings.sqlite", receiver.url)
        with senders(sending.path, [sending.destination], sending.lines.append) as (sender,):
            sending.see(0, until=1)
            wait_for(lambda: sender.given_up == 1, timeout=WAIT, what="the refused message")
            sending.see(0, until=60)
            sending.see(0, 2000, until=2001)
            wait_for(lambda: receiver.accepted, timeout=WAIT, what="the next message")

    assert [each["life"] for each in receiver.accepted] == ["opened"]
    assert any(line.startswith("Given up") for line in sending.lines)


def test_at_the_end_what_waits_is_sent_and_the_end_is_not_kept_waiting(tmp_path: Path):
    with receiving() as receiver:
        sending = Sending(tmp_path / "findings.sqlite", receiver.url)
        with senders(sending.path, [sending.destination], sending.lines.append):
            sending.see(0, until=1)
        began = time.monotonic()

    assert [each["life"] for each in receiver.accepted] == ["opened"]
    assert time.monotonic() - began < 6


def alerts(address: str) -> list[dict[str, Any]]:
    with urlopen(f"{address}/api/v2/alerts?active=true") as response:
        return list(json.load(response))


@pytest.mark.timeout(300)
def test_an_alert_of_a_running_alertmanager_ends_when_the_finding_is_resolved(tmp_path: Path):
    routes = alertmanager_document(coverage(CHOICES, every_alert()))
    (tmp_path / "monitoring").mkdir()
    with monitoring(tmp_path / "monitoring", targets=[], rules={}, alertmanager=routes) as running:
        sending = Sending(tmp_path / "findings.sqlite", f"alertmanager={running.alertmanager}")
        with senders(sending.path, [sending.destination], sending.lines.append) as (sender,):
            sending.see(0, until=1)
            (alert,) = wait_for(
                lambda: alerts(running.alertmanager), timeout=WAIT, what="the alert to begin", error=LabError
            )
            sending.see(0, 2, until=3)
            sending.see(0, 2, until=60)
            wait_for(lambda: not alerts(running.alertmanager), timeout=WAIT, what="the alert to end", error=LabError)

    assert alert["labels"]["mode"] == "idle_disconnect"
    assert alert["labels"]["finding"] in sending.history.known
    assert sender.sent == 2
    assert sending.lines == []


def test_an_open_finding_is_sent_to_alertmanager_again_by_a_new_watch(tmp_path: Path):
    routes = alertmanager_document(coverage(CHOICES, every_alert()))
    sending = Sending(tmp_path / "findings.sqlite", "alertmanager=http://127.0.0.1:1")
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with monitoring(tmp_path / "one", targets=[], rules={}, alertmanager=routes) as running:
        sending.destination = destination_of(f"alertmanager={running.alertmanager}")
        sending.see(0, until=1)
        with senders(sending.path, [sending.destination], sending.lines.append):
            wait_for(lambda: alerts(running.alertmanager), timeout=WAIT, what="the alert", error=LabError)
        with urlopen(f"{running.alertmanager}/api/v2/alerts") as response:
            (first,) = json.load(response)
        with senders(sending.path, [sending.destination], sending.lines.append):
            again = wait_for(
                lambda: [each for each in alerts(running.alertmanager) if each["updatedAt"] > first["updatedAt"]],
                timeout=WAIT,
                what="the alert to be sent again",
                error=LabError,
            )

    assert [each["labels"] for each in again] == [first["labels"]]
    assert sending.lines == []
