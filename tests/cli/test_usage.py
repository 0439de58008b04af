"""A call whose words are off is answered by exit code 2 and by what to write instead."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from leadsman.catalogue import Mode, every_mode
from leadsman.cli import group

HEALTHY = "healthy-java"


@pytest.fixture
def healthy(recorded: Callable[[str], Path]) -> Path:
    return recorded(HEALTHY)


def test_an_unknown_command_is_named(call) -> None:
    told = call("diagnos", "logs")

    assert told.code == 2
    assert "'diagnos'" in told.err


def test_a_missing_path_is_named(call) -> None:
    told = call("diagnose", "runs/42")

    assert told.code == 2
    assert "No capture at runs/42" in told.err
    assert told.out == ""


def test_an_empty_folder_is_nothing_to_read(call, tmp_path: Path) -> None:
    told = call("diagnose", tmp_path)

    assert told.code == 2
    assert f"Nothing to read at {tmp_path}" in told.err


def test_no_path_at_all_shows_the_usage(call) -> None:
    told = call("diagnose")

    assert told.code == 2
    assert "PATH..." in told.err


def test_an_unknown_mode_is_answered_with_those_there_are(call, healthy: Path) -> None:
    told = call("diagnose", healthy, "--mode", "idle_disconect")

    assert told.code == 2
    assert all(mode.name in told.err for mode in every_mode())


def test_an_unknown_threshold_is_answered_with_the_valid_ones(call, healthy: Path) -> None:
    told = call("diagnose", healthy, "--set", "idle_disconnect.stal_seconds=3")

    assert told.code == 2
    assert all(f"{mode.name}.{name}" in told.err for mode in every_mode() for name in mode.parameters)


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--set", "idle_disconnect.stall_seconds", "KEY=VALUE"),
        ("--set", "idle_disconnect.stall_seconds=long", "65.0"),
        ("--set", "stall_seconds=3", "idle_disconnect.stall_seconds"),
        ("--spark-conf", "spark.executor.memory", "KEY=VALUE"),
        ("--since", "yesterday", "2020-12-20T08:14:03Z"),
        ("--until", "08:00", "2020-12-20T08:14:03Z"),
        ("--timezone", "Mars/Olympus", "Europe/Berlin"),
        ("--timezone", "../../etc/passwd", "Europe/Berlin"),
        ("--format", "xml", "json"),
        ("--table", "csv", "delta"),
    ],
)
def test_a_value_that_cannot_be_taken_is_answered_with_one_that_can(
    call, healthy: Path, *, option, value, says
) -> None:
    told = call("diagnose", healthy, option, value)

    assert told.code == 2
    assert says in told.err
    assert told.out == ""


def test_an_error_of_usage_says_where_to_look_it_up(call, healthy: Path) -> None:
    told = call("diagnose", healthy, "--timezone", "Mars")

    assert told.err.splitlines()[-1] == "See: leadsman diagnose --help"


def test_an_out_that_is_a_file_is_refused(call, healthy: Path, tmp_path: Path) -> None:
    (tmp_path / "report").write_text("")

    told = call("diagnose", healthy, "--out", tmp_path / "report")

    assert told.code == 2
    assert "report" in told.err


@pytest.mark.parametrize(
    "words",
    [
        ("idle_disconnect", "--cured", "--near-miss", "broker_restart"),
        ("idle_disconnect", "--keep"),
        ("idle_disconect",),
    ],
)
def test_an_experiment_that_makes_no_sense_is_refused_before_anything_starts(call, words: tuple[str, ...]) -> None:
    told = call("reproduce", *words)

    assert told.code == 2
    assert told.err.startswith("leadsman: ")


def test_a_fault_of_our_own_is_2_and_names_the_place(call, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> list[object]:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("leadsman.cli.modes.every_mode", broken)

    told = call("modes")

    assert told.code == 2
    assert "ZeroDivisionError: a bug" in told.err
    assert "test_usage.py" in told.err
    assert "Traceback" not in told.err


def test_a_fault_of_our_own_is_shown_whole_where_that_is_asked_for(call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEADSMAN_DEBUG", "1")
    monkeypatch.setattr("leadsman.cli.modes.every_mode", lambda: 1 / 0)

    assert "Traceback" in call("modes").err


def test_ctrl_c_is_130(call, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> list[object]:
        raise KeyboardInterrupt

    monkeypatch.setattr("leadsman.cli.modes.every_mode", interrupted)

    assert call("modes").code == group.INTERRUPTED == 130


def test_a_closed_pipe_is_not_taken_for_a_finding(call, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed() -> list[object]:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("leadsman.cli.modes.every_mode", closed)

    assert call("modes").code == 2


def test_debugging_shows_what_each_detector_took() -> None:
    capture = Mode("idle_disconnect").folder / "recorded" / "broken-java"
    command = [sys.executable, "-m", "leadsman", "diagnose", str(capture), "--format", "json"]

    told = subprocess.run(
        command, env={**os.environ, "LEADSMAN_DEBUG": "1"}, capture_output=True, text=True, timeout=280, check=False
    )

    assert told.returncode == 1
    assert re.search(r"broken-java: idle_disconnect: \d+\.\d\d s", told.stderr)
    assert re.search(r"broken-java: conditions: \d+\.\d\d s", told.stderr)
