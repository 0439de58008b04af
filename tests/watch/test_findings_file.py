"""The file of findings says why it cannot be opened, and what to do about it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from leadsman.errors import StateError
from leadsman.watch.state.findings_file import FindingsFile

if TYPE_CHECKING:
    from pathlib import Path

OPENED_WITHOUT_SPACE = """
import resource, sys
from pathlib import Path
from leadsman.errors import StateError
from leadsman.watch.state.findings_file import FindingsFile
resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))
try:
    FindingsFile(Path(sys.argv[1]))
except StateError as error:
    print(error)
"""
"""No file may grow beyond half a page of the database: writes fail as on a full disk."""


def test_a_file_that_is_no_database_needs_another_folder(tmp_path: Path) -> None:
    (tmp_path / "findings.sqlite").write_bytes(b"no database" * 1000)

    with pytest.raises(StateError, match=r"cannot be read: file is not a database\. Start with another --to folder"):
        FindingsFile(tmp_path / "findings.sqlite")


def test_a_file_that_finds_no_space_asks_for_the_disk_and_opens_when_there_is_some(tmp_path: Path) -> None:
    path = tmp_path / "findings.sqlite"

    command = [sys.executable, "-c", OPENED_WITHOUT_SPACE, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)

    assert done.stdout.strip().endswith("Is the disk full?")
    assert "another" not in done.stdout
    FindingsFile(path).close()
