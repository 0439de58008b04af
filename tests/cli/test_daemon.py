"""A daemon gives the answers that a command without it gives, and is never in the way of one."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from leadsman.catalogue import Mode, every_mode
from leadsman.waiting import wait_for

BROKEN = str(Mode("idle_disconnect").folder / "recorded" / "broken-java")
HEALTHY = str(Mode("idle_disconnect").folder / "recorded" / "healthy-java")
EVERY = [str(folder) for mode in every_mode() for folder in mode.recordings()]
LEADSMAN = [sys.executable, "-m", "leadsman"]
SOON = timedelta(minutes=2)


def run(words: list[str], runtime: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    result = {**os.environ, "XDG_RUNTIME_DIR": str(runtime), **environment}
    return subprocess.run([*LEADSMAN, *words], env=result, capture_output=True, text=True, check=False, timeout=150)


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in which one daemon listens, for all tests that leave it as it is."""
    place = tmp_path_factory.mktemp("run")
    started = run(["daemon", "start"], place)
    assert started.returncode == 0, started.stderr
    yield place
    run(["daemon", "stop"], place)


def pid_of(runtime: Path) -> int:
    output = run(["daemon", "status"], runtime).stdout
    return int(output.partition("(process ")[2].partition(")")[0])


@pytest.mark.parametrize(
    "words",
    [
        ["diagnose", BROKEN],
        pytest.param(["diagnose", HEALTHY, "--format", "json"], marks=pytest.mark.long),
        ["diagnose", "no-such"],
    ],
)
def test_the_answers_are_those_of_a_command_without_it(runtime: Path, words: list[str]):
    by_daemon = run(words, runtime)
    alone = run(words, runtime, LEADSMAN_DAEMON="off")

    assert (by_daemon.returncode, by_daemon.stdout) == (alone.returncode, alone.stdout)
    assert by_daemon.stderr == alone.stderr


def test_a_relative_path_and_a_report_are_of_the_folder_where_one_stands(runtime: Path, tmp_path: Path):
    (tmp_path / "logs").symlink_to(BROKEN)
    result = {**os.environ, "XDG_RUNTIME_DIR": str(runtime), "PYTHONPATH": os.pathsep.join(sys.path)}

    ended = subprocess.run(
        [*LEADSMAN, "diagnose", "logs", "--out", "report"], cwd=tmp_path, env=result, capture_output=True, check=False
    )

    assert ended.returncode == 1, ended.stderr
    findings = json.loads((tmp_path / "report" / "findings.json").read_text())
    assert (tmp_path / "report" / "report.html").exists()
    assert "logs" in json.dumps(findings)


def test_a_command_with_a_spark_of_its_own_is_run_where_it_was_called(runtime: Path, tmp_path: Path):
    """The daemon learns it from the settings file, and hands the command back."""
    settings = tmp_path / "leadsman.toml"
    settings.write_text('[diagnose]\nmaster = "nonsense"\n')

    ended = run(["--config", str(settings), "diagnose", BROKEN], runtime)
    by_environment = run(["diagnose", BROKEN], runtime, LEADSMAN_DIAGNOSE_MASTER="nonsense")

    assert [ended.returncode, by_environment.returncode] == [2, 2]
    assert "No Spark cluster answers at nonsense" in ended.stderr
    assert "No Spark cluster answers at nonsense" in by_environment.stderr


def test_standard_input_is_read_by_the_command_itself(runtime: Path):
    result = {**os.environ, "XDG_RUNTIME_DIR": str(runtime)}
    text = "2026-02-16 12:00:00,000 INFO orders: started\n"

    ended = subprocess.run(
        [*LEADSMAN, "diagnose", "-"], env=result, input=text, capture_output=True, text=True, check=False
    )

    assert ended.returncode in (0, 3), ended.stderr


def test_ctrl_c_ends_the_command_and_the_daemon_begins_anew(runtime: Path):
    before = pid_of(runtime)
    result = {**os.environ, "XDG_RUNTIME_DIR": str(runtime)}
    process = subprocess.Popen(
        [*LEADSMAN, "diagnose", *EVERY], env=result, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    wait_for(lambda: run(["daemon", "status"], runtime).returncode == 1, timeout=SOON, what="the daemon to be busy")

    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    wait_for(lambda: run(["daemon", "status"], runtime).returncode == 0, timeout=SOON, what="the daemon")

    assert process.returncode == 130
    assert run(["diagnose", BROKEN], runtime).returncode == 1
    assert pid_of(runtime) == before


@pytest.mark.long
def test_a_daemon_that_was_killed_is_in_nobodys_way(tmp_path: Path):
    assert run(["daemon", "start"], tmp_path).returncode == 0
    daemon = psutil.Process(pid_of(tmp_path))
    for each in (*daemon.children(recursive=True), daemon):
        each.kill()

    ended = run(["diagnose", BROKEN], tmp_path)

    assert ended.returncode == 1
    assert run(["daemon", "status"], tmp_path).returncode == 1


def test_a_command_after_the_kill_of_its_jvm_runs_by_itself_and_the_daemon_begins_anew(runtime: Path):
    before = pid_of(runtime)
    (jvm,) = (each for each in psutil.Process(before).children(recursive=True) if each.name() == "java")
    jvm.kill()

    found = run(["diagnose", BROKEN], runtime)

    assert (found.returncode, found.stderr) == (1, run(["diagnose", BROKEN], runtime, LEADSMAN_DAEMON="off").stderr)
    wait_for(lambda: run(["daemon", "status"], runtime).returncode == 0, timeout=SOON, what="the daemon, anew")
    assert run(["diagnose", BROKEN], runtime).returncode == 1


@pytest.mark.long
def test_it_ends_itself_when_it_has_nothing_to_do(tmp_path: Path):
    assert run(["daemon", "start", "--idle-minutes", "0.02"], tmp_path).returncode == 0

    wait_for(lambda: not list(tmp_path.glob("leadsman/*.sock")), timeout=SOON, what="the daemon to end")

    assert run(["daemon", "stop"], tmp_path).returncode == 0


def test_a_folder_that_others_may_enter_is_not_trusted(tmp_path: Path):
    place = tmp_path / "leadsman"
    place.mkdir()
    place.chmod(0o777)

    ended = run(["daemon", "start"], tmp_path)

    assert ended.returncode == 2
    assert "chmod 700" in ended.stderr
