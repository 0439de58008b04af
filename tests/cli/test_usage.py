"""A call whose words are off is answered by exit code 2 and by what to write instead."""

import logging
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from leadsman.catalogue import every_mode
from leadsman.cli import group

HEALTHY = "healthy-java"


@pytest.fixture
def healthy(recorded: Callable[[str], Path]) -> Path:
    return recorded(HEALTHY)


def test_an_unknown_command_is_named(call) -> None:
    result = call("diagnos", "logs")

    assert result.code == 2
    assert "'diagnos'" in result.err


def test_a_missing_path_is_named(call) -> None:
    result = call("diagnose", "runs/42")

    assert result.code == 2
    assert "No capture at runs/42" in result.err
    assert result.out == ""


def test_an_empty_folder_is_nothing_to_read(call, tmp_path: Path) -> None:
    result = call("diagnose", tmp_path)

    assert result.code == 2
    assert f"Nothing to read at {tmp_path}" in result.err


def test_no_path_at_all_shows_the_usage(call) -> None:
    result = call("diagnose")

    assert result.code == 2
    assert "PATH..." in result.err


def test_an_unknown_mode_is_answered_with_those_there_are(call, healthy: Path) -> None:
    result = call("diagnose", healthy, "--mode", "idle_disconect")

    assert result.code == 2
    assert all(mode.name in result.err for mode in every_mode())


def test_an_unknown_threshold_is_answered_with_the_valid_ones(call, healthy: Path) -> None:
    result = call("diagnose", healthy, "--set", "idle_disconnect.stal_seconds=3")

    assert result.code == 2
    assert all(f"{mode.name}.{name}" in result.err for mode in every_mode() for name in mode.parameters)


@pytest.mark.parametrize(
    ("option", "value", "message"),
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
    call, healthy: Path, *, option, value, message
) -> None:
    result = call("diagnose", healthy, option, value)

    assert result.code == 2
    assert message in result.err
    assert result.out == ""


def test_an_error_of_usage_names_where_to_look_it_up(call, healthy: Path) -> None:
    result = call("diagnose", healthy, "--timezone", "Mars")

    assert result.err.splitlines()[-1] == "See: leadsman diagnose --help"


def test_an_out_that_is_a_file_is_refused(call, healthy: Path, tmp_path: Path) -> None:
    (tmp_path / "report").write_text("")

    result = call("diagnose", healthy, "--out", tmp_path / "report")

    assert result.code == 2
    assert "report" in result.err


@pytest.mark.parametrize(
    "words",
    [
        ("idle_disconnect", "--cured", "--near-miss", "broker_restart"),
        ("idle_disconnect", "--keep"),
        ("idle_disconect",),
    ],
)
def test_an_experiment_that_makes_no_sense_is_refused_before_anything_starts(call, words: tuple[str, ...]) -> None:
    result = call("reproduce", *words)

    assert result.code == 2
    assert result.err.startswith("leadsman: ")


def test_a_fault_of_our_own_is_2_and_names_the_place(call, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> list[object]:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("leadsman.cli.commands.modes.every_mode", broken)

    result = call("modes")

    assert result.code == 2
    assert "ZeroDivisionError: a bug" in result.err
    assert "test_usage.py" in result.err
    assert "Traceback" not in result.err


def test_a_fault_of_our_own_is_shown_whole_on_request(call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEADSMAN_DEBUG", "1")
    monkeypatch.setattr("leadsman.cli.commands.modes.every_mode", lambda: 1 / 0)

    assert "Traceback" in call("modes").err


def test_ctrl_c_is_130(call, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> list[object]:
        raise KeyboardInterrupt

    monkeypatch.setattr("leadsman.cli.commands.modes.every_mode", interrupted)

    assert call("modes").code == group.INTERRUPTED == 130


def test_a_closed_pipe_is_not_taken_for_a_finding(call, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed() -> list[object]:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("leadsman.cli.commands.modes.every_mode", closed)

    assert call("modes").code == 2


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_debugging_shows_what_each_detector_took(
    call, recorded: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEADSMAN_DEBUG", "1")
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # pytest's own, beside which the command adds none

    result = call("diagnose", recorded("broken-java"), "--format", "json")

    assert result.code == 1
    assert re.search(r"broken-java: idle_disconnect: \d+\.\d\d s", result.err)
    assert re.search(r"broken-java: conditions: \d+\.\d\d s", result.err)
