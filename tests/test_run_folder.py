"""Folders of one run: nothing of them is left, whenever Ctrl-C comes."""

from __future__ import annotations

import signal
import tempfile
from typing import TYPE_CHECKING

import pytest

from leadsman.pipeline.spark.embedded import embedded_session
from leadsman.pipeline.spark.environment import TABLE_FOLDER
from leadsman.run_folder import run_folder

if TYPE_CHECKING:
    from pathlib import Path


def test_ctrl_c_while_a_folder_is_removed_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cleanup = tempfile.TemporaryDirectory.cleanup

    def interrupted(folder: tempfile.TemporaryDirectory[str]) -> None:
        signal.raise_signal(signal.SIGINT)
        cleanup(folder)

    monkeypatch.setattr(tempfile.TemporaryDirectory, "cleanup", interrupted)
    with pytest.raises(KeyboardInterrupt), run_folder(tmp_path) as folder:
        (folder / "table").write_text("of a capture")

    assert not list(tmp_path.iterdir())


def test_ctrl_c_while_a_folder_is_made_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = tempfile.mkdtemp

    def interrupted(*arguments: str, **options: str) -> str:
        folder = make(*arguments, **options)
        signal.raise_signal(signal.SIGINT)
        return folder

    monkeypatch.setattr(tempfile, "mkdtemp", interrupted)
    with pytest.raises(KeyboardInterrupt), run_folder(tmp_path):
        pytest.fail("the block does not begin")

    assert not list(tmp_path.iterdir())


def test_a_worker_whose_driver_has_ended_makes_no_folder_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TABLE_FOLDER, str(tmp_path / "gone"))
    with pytest.raises(FileNotFoundError), embedded_session():
        pytest.fail("there is no folder")
