"""A Spark cluster that loses an executor, or has a slow one, reaches the verdicts of one machine."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from leadsman.catalogue import Mode
from leadsman.lab.processes.families import descendants, kill_family, signal_all
from leadsman.lab.processes.program import SOURCES
from leadsman.lab.spark.cluster import SHORT_LIVED, SparkCluster, small_executors, spark_cluster
from leadsman.model import Diagnosis
from leadsman.report.json_documents.findings import findings_json
from leadsman.waiting import wait_for

BROKEN = Mode("idle_disconnect").folder / "recorded" / "broken-confluent-kafka"
MINUTES_2, MINUTES_4 = timedelta(minutes=2), timedelta(minutes=4)
LARGE_BYTES, FILES = 6 << 20, 12
"""Enough work that a machine can be killed in the middle of it: some seconds for two cores."""

MAIN = "import sys; from leadsman.cli import main; sys.exit(main())"

STOPPED, RUNNING = timedelta(milliseconds=400), timedelta(milliseconds=100)
"""A machine that is slow runs a fifth of the time."""


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The broken recording, with busy services beside it."""
    folder = tmp_path_factory.mktemp("faults") / "capture"
    folder.mkdir()
    for path in sorted(BROKEN.rglob("*.log")):
        (folder / path.name).write_bytes(path.read_bytes())
    line = "2026-11-21 09:04:{:02}.{:03},000 INFO orders: Handling an event of the usual length, and telling of it\n"
    lines = "".join(line.format(i // 1000 % 60, i % 1000).replace(",000", "", 1) for i in range(60_000))
    for number in range(FILES):
        own = lines.replace("orders:", f"orders{number}:")
        (folder / f"busy-{number}.log").write_text(own * (LARGE_BYTES // len(own) + 1))
    return folder


@pytest.fixture(scope="module")
def alone(capture: Path, diagnosed: Callable[..., list[Diagnosis]]) -> dict[str, object]:
    """What one machine finds."""
    return without_path(findings_json(diagnosed([capture])))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SparkCluster]:
    with spark_cluster(tmp_path) as running:
        yield running


@contextmanager
def started(capture: Path, *options: str, program: str = MAIN) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-c", program, "diagnose", capture.as_uri(), "--format", "json", *options]
    around = {**os.environ, "PYTHONPATH": str(SOURCES), "SPARK_SUBMIT_OPTS": SHORT_LIVED}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=around) as process:
        try:
            yield process
        finally:
            process.kill()


def answer(process: subprocess.Popen[str]) -> dict[str, object]:
    output, errors = process.communicate(timeout=280)
    assert process.returncode in {1, 3}, errors
    return without_path(output)


def without_path(document: str) -> dict[str, object]:
    (found,) = json.loads(document)["captures"]
    return {**found, "path": ""}


def on(cluster: SparkCluster) -> list[str]:
    small = [word for key, value in small_executors().items() for word in ("--spark-conf", f"{key}={value}")]
    return ["--master", cluster.url, *small]


def reader_below(worker: int) -> list[psutil.Process]:
    """The Python processes of a worker's executor that hold a file of the capture which they have put on disk."""
    return [each for each in descendants(worker) if reads(each)]


def reads(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        return any("/leadsman-" in file.path and "/dev/shm" not in file.path for file in process.open_files())
    return False


@pytest.mark.spark
def test_an_executor_that_dies_while_it_reads_changes_no_verdict(
    cluster: SparkCluster, capture: Path, alone: dict[str, object]
):
    worker = cluster.workers[2]
    with started(capture, *on(cluster)) as process:
        wait_for(lambda: reader_below(worker.popen.pid), timeout=MINUTES_2, what="the second machine to read")
        kill_family(worker.popen.pid)
        found = answer(process)

    assert found == alone


@pytest.mark.long
@pytest.mark.spark
def test_an_executor_that_dies_with_events_it_has_read_changes_no_verdict(
    cluster: SparkCluster, capture: Path, alone: dict[str, object], tmp_path: Path
):
    worker, log = cluster.workers[2], tmp_path / "events"
    log.mkdir()
    settings = {"enabled": "true", "dir": log.as_uri(), "rolling.enabled": "false", "compress": "false"}
    options = [word for key, value in settings.items() for word in ("--spark-conf", f"spark.eventLog.{key}={value}")]

    with started(capture, *on(cluster), *options, program=BY_SPARK_SQL) as process:
        wait_for(lambda: jobs_done(log) >= JOBS_READING, timeout=MINUTES_4, what="queries over what was read")
        kill_family(worker.popen.pid)
        found = answer(process)

    assert found == alone


BY_SPARK_SQL = """
import sys
from leadsman.cli import main
from leadsman.pipeline import diagnose
diagnose.MAX_TASK_EVENTS = 0
sys.exit(main())
"""
"""The command, which takes every capture for too large for a task: many queries over events that executors hold."""

JOBS_READING = 12
"""So many jobs are done when events are read and detectors ask for them."""


def jobs_done(log: Path) -> int:
    return sum(path.read_text(errors="replace").count("SparkListenerJobEnd") for path in log.iterdir())


@pytest.mark.long
@pytest.mark.spark
def test_a_slow_executor_changes_no_verdict(cluster: SparkCluster, capture: Path, alone: dict[str, object]):
    with started(capture, *on(cluster)) as process, slowed(cluster.workers[2].popen.pid) as slowed_times:
        found = answer(process)

    assert found == alone
    assert any(slowed_times)


@contextmanager
def slowed(worker: int) -> Iterator[list[int]]:
    """Stop a machine's executor and its Python, and let them go on, by turns."""
    over, times = threading.Event(), []

    def by_turns() -> None:
        while not over.is_set():
            family = descendants(worker)
            signal_all(family, signal.SIGSTOP)
            over.wait(STOPPED.total_seconds())
            signal_all(family, signal.SIGCONT)
            over.wait(RUNNING.total_seconds())
            times.append(len(family))

    thread = threading.Thread(target=by_turns)
    thread.start()
    try:
        yield times
    finally:
        over.set()
        thread.join()
