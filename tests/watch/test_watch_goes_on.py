"""`leadsman watch` with its table, history and messages: through kills, restarts and expiry. Real Spark and Delta."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from leadsman import modes
from leadsman.errors import LeadsmanError
from leadsman.lab.killing.kept_state import delta_rows, live_files
from leadsman.lab.processes.webhook_receiver import WebhookReceiver, receiving
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

CAPTURE = min(Path(next(iter(modes.__path__))).glob("idle_disconnect/recorded/broken*"))
TIME = re.compile(r"^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d", re.MULTILINE)
WAIT = timedelta(seconds=400)

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1200)]


@contextmanager
def watching(*arguments: str, end: signal.Signals = signal.SIGINT) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "leadsman", "watch", *arguments]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        yield process
    finally:
        os.killpg(process.pid, end)
        process.communicate(timeout=120)


def history(state: Path) -> list[dict[str, Any]]:
    """The rows of the history, by the number of the change."""
    if not (state / "history" / "_delta_log").exists():
        return []
    return sorted(delta_rows(state / "history"), key=lambda row: row["seq"])


def copy_log(folder: Path, *, ago: timedelta = timedelta()) -> datetime:
    """Write the capture's logs below a folder as if they had been written until now, or until so long ago.

    Return the last time in them.
    """
    texts = {source.name: source.read_text() for source in (CAPTURE / "clients").glob("*.log")}
    last = max(_time(match) for text in texts.values() for match in TIME.finditer(text))
    shift = datetime.now(UTC).replace(microsecond=0) - ago - last
    for name, text in texts.items():
        (folder / name).write_text(TIME.sub(lambda match: f"{_time(match) + shift:%Y-%m-%d %H:%M:%S}", text))
    return last + shift


def _time(match: re.Match[str]) -> datetime:
    return datetime.fromisoformat(match[0]).replace(tzinfo=UTC)


def append(folder: Path, time: datetime) -> None:
    with (folder / "busy-1.log").open("a") as file:
        file.write(f"{time:%Y-%m-%d %H:%M:%S},000 INFO still here\n")


def lives(receiver: WebhookReceiver) -> list[str]:
    return [each["life"] for each in {each["key"]: each for each in receiver.accepted}.values()]


def test_a_finding_of_a_new_log_is_sent_once_through_kills_and_its_history_has_each_change_once(tmp_path: Path):
    logs = tmp_path / "logs"
    state = logs / "state"  # the watch's own files are no telemetry
    logs.mkdir()
    with receiving() as receiver:
        arguments = (str(logs), "--to", str(state), "--notify", receiver.url)
        with watching(*arguments, end=signal.SIGKILL):
            last = copy_log(logs)
            wait_for(lambda: receiver.accepted, timeout=WAIT, what="the first message", error=LeadsmanError)
        with watching(*arguments, end=signal.SIGKILL):
            append(logs, last + timedelta(minutes=1))
            wait_for((state / "checkpoint" / "commits").exists, timeout=WAIT, what="a batch", error=LeadsmanError)
        append(logs, last + timedelta(hours=2))
        with watching(*arguments) as interrupted:
            wait_for(lambda: "resolved" in lives(receiver), timeout=WAIT, what="the end", error=LeadsmanError)
            wait_for(
                lambda: any(row["life"] == "resolved" for row in history(state)),
                timeout=WAIT,
                what="the end in the history",
                error=LeadsmanError,
            )

    rows = history(state)
    assert interrupted.returncode == 130
    assert lives(receiver) == ["opened", "resolved"]
    assert [row["life"] for row in rows if row["life"] != "updated"] == ["opened", "resolved"]
    assert len({row["seq"] for row in rows}) == len(rows)
    assert len({(row["id"], row["number"]) for row in rows}) == len(rows)


@pytest.mark.long
def test_events_expire_from_the_table_and_the_finding_stays_open(tmp_path: Path):
    logs, state = tmp_path / "logs", tmp_path / "state"
    logs.mkdir()
    last = copy_log(logs, ago=timedelta(minutes=15))  # times later than now would expire nothing
    with watching(str(logs), "--to", str(state), "--retention", "10m") as process:
        assert process.stdout is not None
        opened = process.stdout.readline()
        before = rows_of(state / "events")
        append(logs, last + timedelta(minutes=14))
        wait_for(lambda: rows_of(state / "events") < before, timeout=WAIT, what="events to expire", error=LeadsmanError)
        append(logs, last + timedelta(minutes=14, seconds=30))
        append(logs, last + timedelta(hours=2))
        resolved = process.stdout.readline()

    rows = history(state)
    assert "OPENED" in opened
    assert "RESOLVED" in resolved
    assert [row["life"] for row in rows if row["life"] != "updated"] == ["opened", "resolved"]


def rows_of(table: Path) -> int:
    """How many rows a table has."""
    try:
        return sum(pq.ParquetFile(file).metadata.num_rows for file in live_files(table))
    except FileNotFoundError:  # a file was replaced meanwhile
        return 1 << 30
