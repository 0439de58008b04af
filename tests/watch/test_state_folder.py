"""The folder of a state is locked by one watch, and one that cannot be used is said in a line."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from leadsman.errors import StateError
from leadsman.watch.state.state_folder import FOLDERS, locked_state

if TYPE_CHECKING:
    from pathlib import Path


def test_a_state_is_locked_by_one_watch_at_a_time(tmp_path: Path):
    in_use = rf"in use by another watch \(process {os.getpid()}\)"
    with locked_state(tmp_path, 0o700), pytest.raises(StateError, match=in_use), locked_state(tmp_path, 0o700):
        pass
    with locked_state(tmp_path, 0o700):
        pass


def test_a_killed_process_locks_no_state(tmp_path: Path):
    locks = "import sys; from pathlib import Path; from leadsman.watch.state.state_folder import locked_state\n"
    locks += "with locked_state(Path(sys.argv[1]), 0o700): print('locked', flush=True); sys.stdin.read()"
    process = subprocess.Popen(
        [sys.executable, "-c", locks, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "locked\n"
    with pytest.raises(StateError, match="in use"), locked_state(tmp_path, 0o700):
        pass

    process.kill()
    process.communicate()

    with locked_state(tmp_path, 0o700):
        pass


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path):
    (tmp_path / "file").touch()

    with (
        pytest.raises(StateError, match="cannot be written: Not a directory"),
        locked_state(tmp_path / "file" / "st", 0o700),
    ):
        pass


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_of_another_program_is_refused(name: str, tmp_path: Path):
    (tmp_path / name).touch()

    with pytest.raises(StateError, match=f"{name} in it is a file"), locked_state(tmp_path, 0o700):
        pass
