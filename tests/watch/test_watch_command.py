"""`leadsman watch` on real Spark and real Delta: what `diagnose` says, also after kills."""

from __future__ import annotations

import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leadsman import modes
from leadsman.cli.commands.diagnose import exit_code
from leadsman.cli.commands.watch import PRIVATE
from leadsman.report.json_documents.findings import findings_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.model import Diagnosis

MODES = Path(next(iter(modes.__path__)))
CAPTURES = [
    str(min(MODES.glob(f"{mode}/recorded/{kind}*")))
    for mode, kind in (("idle_disconnect", "broken"), ("producer_id_leak", "broken"), ("idle_disconnect", "healthy"))
]
SECONDS = 400

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


def watch(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "leadsman", "watch", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def offsets(state: Path) -> int:
    """How many offsets of the query are committed."""
    commits = state / "checkpoint" / "commits"
    return max((int(path.name) for path in commits.glob("[0-9]*")), default=-1) if commits.exists() else -1


def kill_at(process: subprocess.Popen[str], state: Path, committed: int) -> None:
    """Kill the whole process group as soon as so many offsets are committed."""
    deadline = time.monotonic() + SECONDS
    while offsets(state) < committed and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def replay(state: Path, *, batch_bytes: int) -> tuple[str, ...]:
    pieces = ("--batch-bytes", str(batch_bytes), "--interval", "0")
    return ("--replay", *CAPTURES, "--until-end", "--format", "json", *pieces, "--to", str(state))


def assert_same_document(arguments: tuple[str, ...], expected: list[Diagnosis]) -> None:
    process = watch(*arguments)
    output, errors = process.communicate(timeout=SECONDS)

    assert output == findings_json(expected) + "\n", errors
    assert process.returncode == exit_code(expected)


def test_a_replay_that_was_killed_ends_in_the_document_of_diagnose(
    tmp_path: Path, diagnosed: Callable[..., list[Diagnosis]]
):
    arguments = replay(tmp_path / "state", batch_bytes=60_000)
    kill_at(watch(*arguments), tmp_path / "state", 1)

    assert offsets(tmp_path / "state") >= 1, "it was killed before it had begun"
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == PRIVATE
    assert_same_document(arguments, diagnosed(CAPTURES))


@pytest.mark.long
def test_a_replay_that_was_killed_twenty_times_ends_in_the_document_of_diagnose(
    tmp_path: Path, diagnosed: Callable[..., list[Diagnosis]]
):
    chance = random.Random()
    arguments = replay(tmp_path / "state", batch_bytes=3_000)
    for _ in range(20):
        kill_at(watch(*arguments), tmp_path / "state", offsets(tmp_path / "state") + chance.randrange(1, 3))

    assert offsets(tmp_path / "state") >= 20
    assert_same_document(arguments, diagnosed(CAPTURES))


@pytest.mark.long  # a log that grows is opened in test_watch_goes_on.py, objects that appear in test_watch_objects.py
def test_a_growing_log_opens_a_finding_and_ctrl_c_ends_the_watch(tmp_path: Path):
    logs = tmp_path / "logs"
    logs.mkdir()
    process = watch(str(logs), "--to", str(logs / "state"))  # its own files are no telemetry
    try:
        for source in sorted(Path(CAPTURES[0]).rglob("*.log")):
            with (logs / source.name).open("w") as file:
                for line in source.read_text().splitlines(keepends=True):
                    file.write(line)
                    file.flush()
        assert process.stdout is not None
        first = process.stdout.readline()
        last = max((logs / "state" / "positions").glob("[0-9]*.json"), key=lambda file: int(file.stem)).read_text()
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=SECONDS)

    assert "OPENED" in first
    assert "idle_disconnect" in first
    assert {Path(file["path"]).parent for stream in json.loads(last)["streams"] for file in stream["files"]} == {logs}
    assert process.returncode == 130


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--retention", "0"), "a minute or more"),
        (("--serve", "0.0.0.0:8080"), "--token-file"),
        (("--notify", "slack"), "KIND=URL"),
        (("--history-topic", "topic"), "HOST:PORT/TOPIC"),
        (("--replay", "--until-end", "--retention", "1d"), "--until-end"),
    ],
)
def test_an_option_that_cannot_be_used_is_refused_before_spark_starts(
    arguments: tuple[str, ...], expected: str, tmp_path: Path
):
    process = watch(str(tmp_path), *arguments)
    _, errors = process.communicate(timeout=SECONDS)

    assert process.returncode == 2
    assert expected in errors


def test_speed_without_replay_is_refused(tmp_path: Path):
    process = watch(str(tmp_path), "--speed", "5")
    _, errors = process.communicate(timeout=SECONDS)

    assert process.returncode == 2
    assert "--replay" in errors
