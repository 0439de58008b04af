"""Programs are kept by handle, and none survives the lab."""

from __future__ import annotations

import signal
import subprocess
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

import psutil
import pytest

from leadsman.errors import LabError
from leadsman.lab import faults
from leadsman.lab.processes.program import Program
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from pathlib import Path

SOON = timedelta(seconds=20)
ECHO = "import sys\nfor line in sys.stdin: print(line.strip(), flush=True)"
STUBBORN = "import signal, sys\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint(1, flush=True)\nsys.stdin.read()"
LABS_THAT_DIE = """
import os, sys
from pathlib import Path
from leadsman.lab.processes.program import Program
folder = Path(sys.argv[1])
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
program = Program.start("sleeper", sleep, folder=folder, errors=folder / "e")
print(program.popen.pid, flush=True)
os.kill(os.getpid(), 9)
"""


def started(folder: Path, code: str = ECHO) -> Program:
    return Program.start("echo", [sys.executable, "-c", code], folder=folder, errors=folder / "errors.log")


def test_a_program_gets_a_message_and_answers(tmp_path: Path) -> None:
    with started(tmp_path) as program:
        program.write_line("ahoy")

        assert program.output.readline() == "ahoy\n"


def test_leaving_kills_it(tmp_path: Path) -> None:
    with started(tmp_path) as program:
        pass

    assert not program.is_running
    assert not psutil.pid_exists(program.popen.pid)


def test_a_frozen_program_does_nothing_until_it_thaws(tmp_path: Path) -> None:
    with started(tmp_path) as program:
        program.write_line("ready")
        program.output.readline()

        with faults.frozen(program):
            program.write_line("ahoy")
            frozen = program.is_frozen

        assert frozen
        assert program.output.readline() == "ahoy\n"
        assert not program.is_frozen


def test_a_frozen_program_is_killed_all_the_same(tmp_path: Path) -> None:
    with started(tmp_path) as program:
        program.send_signal(signal.SIGSTOP)
        wait_for(lambda: program.is_frozen, timeout=SOON, what="the freeze")

    assert not program.is_running


def test_a_program_that_has_ended_gets_no_message(tmp_path: Path) -> None:
    with started(tmp_path, "pass") as program:
        program.wait_for_exit(timeout=SOON)

        program.write_line("ahoy")
        program.send_signal(signal.SIGTERM)

        assert program.popen.returncode == 0


def test_one_that_ignores_the_signal_is_killed(tmp_path: Path) -> None:
    with started(tmp_path, STUBBORN) as program:
        program.output.readline()

        program.stop(timeout=timedelta(seconds=0.2))

        assert program.popen.returncode == -signal.SIGKILL


def test_a_killed_lab_takes_its_programs_along(tmp_path: Path) -> None:
    lab = subprocess.run([sys.executable, "-c", LABS_THAT_DIE, tmp_path], capture_output=True, text=True, check=False)

    wait_for(lambda: not psutil.pid_exists(int(lab.stdout)), timeout=SOON, what="the sleeper to die")

    assert lab.returncode == -signal.SIGKILL


def test_a_program_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="no-such-program"):
        Program.start("x", ["no-such-program"], folder=tmp_path, errors=tmp_path / "errors.log")
