"""Folders of one run: nothing of them is left, whenever Ctrl-C comes."""

from __future__ import annotations

import signal
import tempfile
from typing import TYPE_CHECKING

import pytest

from leadsman.interrupt import defer_interrupts, raise_if_interrupted
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


def test_a_deferred_interrupt_reaches_the_block_around_it_at_its_end() -> None:
    ends: list[str] = []

    def interrupted() -> None:
        with defer_interrupts():
            with defer_interrupts():
                signal.raise_signal(signal.SIGINT)
                ends.append("inner")
            ends.append("outer")

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    assert ends == ["inner", "outer"]


def test_a_worker_whose_driver_has_ended_makes_no_folder_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TABLE_FOLDER, str(tmp_path / "gone"))
    with pytest.raises(FileNotFoundError), embedded_session():
        pytest.fail("there is no folder")


def test_an_error_that_comes_of_an_interrupt_is_one() -> None:
    failed = ValueError("the connection is closed")
    failed.__context__ = KeyboardInterrupt()  # as py4j's error has that closes a connection after one

    with pytest.raises(KeyboardInterrupt):
        raise_if_interrupted(failed)
    raise_if_interrupted(ValueError("of its own"))
