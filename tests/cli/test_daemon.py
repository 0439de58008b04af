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
from leadsman.cli.settings import user_file
from leadsman.daemon.client import run_in_daemon
from leadsman.lab.processes.families import kill_family
from leadsman.waiting import wait_for

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

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
    daemon = psutil.Process(pid_in(run(["daemon", "status"], place).stdout))
    yield place
    run(["daemon", "stop"], place)
    if psutil.wait_procs([daemon], timeout=5)[1]:  # it is beginning anew, and listens only then
        daemon.kill()


@pytest.fixture
def daemon(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shared daemon, where this process and its children look for one."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))


def pid_in(status: str) -> int:
    return int(status.partition("(process ")[2].partition(")")[0])


def pid_of(call) -> int:
    return pid_in(call("daemon", "status").out)


def jvms_of(daemon: psutil.Process) -> list[psutil.Process]:
    return [each for each in daemon.children(recursive=True) if is_jvm(each)]


def is_jvm(process: psutil.Process) -> bool:
    try:
        return process.name() == "java"
    except psutil.NoSuchProcess:
        return False


def wait_until_ready(call) -> None:
    wait_for(lambda: call("daemon", "status").code == 0, timeout=SOON, what="the daemon")


@pytest.mark.parametrize(
    "words",
    [
        ["diagnose", BROKEN],
        pytest.param(["diagnose", HEALTHY, "--format", "json"], marks=pytest.mark.long),
        ["diagnose", "no-such"],
    ],
)
def test_the_answers_are_those_of_a_command_without_it(runtime: Path, call, words: list[str]):
    by_daemon = run(words, runtime)
    alone = call(*words)

    assert (by_daemon.returncode, by_daemon.stdout) == (alone.code, alone.out)
    assert by_daemon.stderr == alone.err


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


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("setting", ["master", "remote"])
def test_a_command_with_a_spark_of_its_own_is_run_where_it_was_called(setting: str, monkeypatch: pytest.MonkeyPatch):
    """The daemon learns it from the user's settings or the environment, and hands the command back."""
    settings = user_file()
    settings.parent.mkdir(parents=True)
    settings.write_text(f'[diagnose]\n{setting} = "nonsense"\n')
    by_settings = run_in_daemon(["diagnose", BROKEN])
    settings.unlink()
    monkeypatch.setenv(f"LEADSMAN_DIAGNOSE_{setting.upper()}", "nonsense")
    by_environment = run_in_daemon(["diagnose", BROKEN])

    assert (by_settings, by_environment) == (None, None)


def test_a_command_that_is_handed_back_names_what_is_wrong_with_its_spark(runtime: Path):
    ended = run(["diagnose", BROKEN], runtime, LEADSMAN_DIAGNOSE_REMOTE="nonsense")

    assert ended.returncode == 2
    assert "nonsense" in ended.stderr


@pytest.mark.usefixtures("daemon")
def test_standard_input_is_read_by_the_command_itself():
    assert run_in_daemon(["diagnose", "no-such"]) == 2
    assert run_in_daemon(["diagnose", "-"]) is None


@pytest.mark.usefixtures("daemon")
def test_ctrl_c_ends_the_command_and_the_daemon_begins_anew(call):
    before = pid_of(call)
    process = subprocess.Popen([*LEADSMAN, "diagnose", *EVERY], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: call("daemon", "status").code == 1, timeout=SOON, what="the daemon to be busy")

    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    wait_until_ready(call)

    assert process.returncode == 130
    assert run_in_daemon(["diagnose", BROKEN]) == 1
    assert pid_of(call) == before


@pytest.mark.long
def test_a_daemon_that_was_killed_is_in_nobodys_way(call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert run(["daemon", "start"], tmp_path).returncode == 0
    daemon = psutil.Process(pid_of(call))
    kill_family(daemon.pid)

    ended = run(["diagnose", BROKEN], tmp_path)

    assert ended.returncode == 1
    assert run(["daemon", "status"], tmp_path).returncode == 1


@pytest.mark.long
def test_a_daemon_whose_jvm_was_killed_answers_again(call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert run(["daemon", "start"], tmp_path).returncode == 0
    before = pid_of(call)
    (jvm,) = jvms_of(psutil.Process(before))
    jvm.kill()

    first = run_in_daemon(["diagnose", BROKEN])
    wait_until_ready(call)

    assert (first, run_in_daemon(["diagnose", BROKEN])) == (None, 1)
    assert pid_of(call) == before
    assert run(["daemon", "stop"], tmp_path).returncode == 0


@pytest.mark.long
def test_it_ends_itself_when_it_has_nothing_to_do(tmp_path: Path):
    assert run(["daemon", "start", "--idle-minutes", "0.02"], tmp_path).returncode == 0

    wait_for(lambda: not list(tmp_path.glob("leadsman/*.sock")), timeout=SOON, what="the daemon to end")

    assert run(["daemon", "stop"], tmp_path).returncode == 0


def test_a_folder_that_others_may_enter_is_not_trusted(call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    place = tmp_path / "leadsman"
    place.mkdir()
    place.chmod(0o777)

    refused = call("daemon", "start")

    assert refused.code == 2
    assert "chmod 700" in refused.err


@pytest.mark.usefixtures("daemon")
def test_a_command_after_the_kill_of_its_jvm_runs_by_itself_and_the_daemon_begins_anew(
    call, capfd: pytest.CaptureFixture[str]
):
    """The last test of the module: it does not wait until the daemon answers. How it begins anew is the same after
    Ctrl-C, and a test of the lab waits here too."""
    daemon = psutil.Process(pid_of(call))
    (jvm,) = jvms_of(daemon)
    jvm.kill()

    code = run_in_daemon(["diagnose", BROKEN])

    assert (code, *capfd.readouterr()) == (None, "", "")
    wait_for(lambda: any(each.pid != jvm.pid for each in jvms_of(daemon)), timeout=SOON, what="another JVM")
