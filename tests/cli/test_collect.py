"""`leadsman collect`: every collector is a command, a series ends as asked, and Ctrl-C leaves a capture."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from leadsman.capture import read_manifest
from leadsman.cli.commands.collect import command
from leadsman.collect.collector import collector_names, find_collector
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", collector_names())
def test_every_collector_has_a_help(name: str) -> None:
    result = CliRunner().invoke(command, [name, "--help"])

    assert result.exit_code == 0
    assert "--print-commands" in result.output
    assert not find_collector(name).title.endswith(".")
    assert find_collector(name).examples


def test_a_process_that_is_no_jvm_is_left_alone(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, ["jvm", str(os.getpid()), "--out", str(tmp_path / "c")], standalone_mode=False)

    assert result.return_value == 2
    assert f"Process {os.getpid()} is not a JVM" in (tmp_path / f"c/jvm/{os.getpid()}/heap.txt").read_text()


def test_print_commands_runs_nothing(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, ["jvm", "4711", "--print-commands", "--out", str(tmp_path / "c")])

    assert "'jcmd 4711 GC.class_histogram -all'" in result.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("span", ["soon", "-1s", "5 weeks", ""])
def test_a_wrong_duration_names_an_example(span: str) -> None:
    result = CliRunner().invoke(command, ["jvm", "1", "--for", span])

    assert result.exit_code == 2
    assert "such as 10s" in result.output


def test_a_ctrl_c_leaves_a_valid_capture(tmp_path: Path) -> None:
    capture = tmp_path / "c"
    call = [sys.executable, "-m", "leadsman", "collect", "jvm", str(os.getpid()), "--out", str(capture)]
    running = subprocess.Popen([*call, "--repeat", "100ms", "--for", "10m"], stderr=subprocess.PIPE, text=True)
    series = capture / f"jvm/{os.getpid()}/heap.txt"

    wait_for(
        lambda: series.exists() and series.read_text().count("exit 1") > 1,
        timeout=timedelta(seconds=30),
        what="2 rounds",
    )
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=30)

    assert running.returncode == 130
    assert "The capture until now is valid" in errors
    assert read_manifest(capture) is not None
    assert series.read_text().splitlines()[-1] == "### leadsman exit 1"
