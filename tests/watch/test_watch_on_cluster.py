"""`leadsman watch` on a standalone cluster and through Spark Connect: the document of `diagnose`, also after kills."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leadsman import modes
from leadsman.cli.commands.watch import _paths_as_listed
from leadsman.lab.processes.families import kill_family
from leadsman.lab.processes.program import SOURCES
from leadsman.lab.spark.cluster import SHORT_LIVED, connect_server, small_executors, spark_cluster
from leadsman.report.json_documents.findings import findings_json
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.model import Diagnosis

MODES = Path(next(iter(modes.__path__)))
CAPTURES = ["idle_disconnect/recorded/broken-confluent-kafka", "producer_id_leak/recorded/broken-java"]
"""Relative to MODES: executors work in folders of their own."""

BATCH_BYTES = 40_000
"""Eight batches: enough that a client and then a machine are lost between the first and the last."""

MINUTES_4 = timedelta(minutes=4)
SMALL = [word for key, value in small_executors().items() for word in ("--spark-conf", f"{key}={value}")]

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


def watch(state: Path, *options: str, python: Path | None = None) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "leadsman", "watch", "--replay", *CAPTURES, "--until-end", "--format", "json"]
    words += ["--batch-bytes", str(BATCH_BYTES), "--interval", "0", "--to", str(state), *options]
    own = {"PYTHONPATH": str(SOURCES), "SPARK_SUBMIT_OPTS": SHORT_LIVED, "NO_COLOR": "1"}
    around = {**os.environ, **own, **({"PYSPARK_PYTHON": str(python)} if python else {})}
    around.pop("LEADSMAN_WATCH_SPARK_CONF", None)  # of a JVM of one's own
    pipe = subprocess.PIPE
    return subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, start_new_session=True, cwd=MODES, env=around)


def committed(state: Path) -> int:
    """How many offsets of the query are committed."""
    return len(list((state / "checkpoint" / "commits").glob("[0-9]*")))


def wait_for_offsets(state: Path, number: int, process: subprocess.Popen[str]) -> None:
    wait_for(
        lambda: committed(state) >= number or process.poll() is not None,
        timeout=MINUTES_4,
        what=f"{number} offsets",
    )
    assert process.poll() is None, process.communicate()


@pytest.fixture
def expected(diagnosed: Callable[..., list[Diagnosis]], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(MODES)
    return findings_json(diagnosed(CAPTURES)) + "\n"


def test_a_connect_server_lists_paths_of_the_folder_in_which_the_command_runs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(MODES)

    listed = _paths_as_listed([*CAPTURES, "s3a://bucket/logs"], "sc://host")

    assert listed == [*(str(MODES / each) for each in CAPTURES), "s3a://bucket/logs"]
    assert _paths_as_listed(CAPTURES, None) == CAPTURES


def test_a_connect_server_s_cluster_ends_in_the_document_of_diagnose_after_a_client_and_a_machine_were_lost(
    tmp_path: Path, plain_python: Path, expected: str
):
    state = tmp_path / "state"
    environment = {"PYTHONPATH": "", "PYSPARK_PYTHON": str(plain_python)}
    with (
        spark_cluster(tmp_path, environment=environment) as cluster,
        connect_server(tmp_path, master=cluster.url, conf=small_executors(), environment=environment) as address,
    ):
        killed = watch(state, "--remote", address)
        wait_for_offsets(state, 1, killed)
        os.killpg(killed.pid, signal.SIGKILL)
        killed.communicate()
        process = watch(state, "--remote", address)
        wait_for_offsets(state, committed(state) + 1, process)
        kill_family(cluster.workers[2].popen.pid)
        output, errors = process.communicate(timeout=400)

    assert output == expected, errors
    assert process.returncode == 1


@pytest.mark.long  # the first test has a lost machine, and test_cluster_faults.py a driver of our own
def test_a_cluster_that_loses_a_machine_ends_in_the_document_of_diagnose(
    tmp_path: Path, plain_python: Path, expected: str
):
    state = tmp_path / "state"
    with spark_cluster(tmp_path, environment={"PYTHONPATH": "", "PYSPARK_PYTHON": str(plain_python)}) as cluster:
        process = watch(state, "--master", cluster.url, *SMALL, python=plain_python)
        wait_for_offsets(state, 2, process)
        kill_family(cluster.workers[2].popen.pid)
        output, errors = process.communicate(timeout=400)

    assert output == expected, errors
    assert process.returncode == 1


@pytest.mark.long  # the first test has a killed client
def test_a_client_of_a_connect_server_that_is_killed_goes_on_where_it_was(
    tmp_path: Path, plain_python: Path, expected: str
):
    state = tmp_path / "state"
    with connect_server(tmp_path, environment={"PYTHONPATH": "", "PYSPARK_PYTHON": str(plain_python)}) as address:
        killed = watch(state, "--remote", address)
        wait_for_offsets(state, 2, killed)
        os.killpg(killed.pid, signal.SIGKILL)
        killed.communicate()
        output, errors = watch(state, "--remote", address).communicate(timeout=400)

    assert output == expected, errors
