"""The demo's command line: invalid options are refused before anything starts."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from account_linking.demo import __main__ as demo
from account_linking.demo.error_report import DemoFailed, summarize, summarized_errors

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder_with_file(tmp_path: Path) -> Path:
    """A folder with a user's file."""
    (tmp_path / "thesis.txt").write_text("the only copy", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("arguments", [["--seconds", "5"], ["--seconds", "nan"], ["--seed", "x"], ["--nothing"]])
def test_invalid_arguments_are_refused(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["demo", *arguments])

    with pytest.raises(SystemExit) as ended:
        demo.main()

    assert ended.value.code == 2


@pytest.mark.parametrize("out", ["", "thesis.txt"])
def test_a_folder_with_other_files_is_not_emptied(
    folder_with_file: Path, out: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["demo", "--out", str(folder_with_file / out)])

    with pytest.raises(SystemExit):
        demo.main()

    assert "has files that are not a demo's results" in capsys.readouterr().err
    assert (folder_with_file / "thesis.txt").read_text(encoding="utf-8") == "the only copy"


def test_the_demo_reports_a_folder_that_cannot_be_created(
    folder_with_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["demo", "--out", str(folder_with_file / "thesis.txt" / "out")])

    code = demo.main()

    assert code == demo.FAILED
    assert "Not a directory" in capsys.readouterr().out


def test_the_root_cause_is_printed_and_the_traceback_is_written(tmp_path: Path) -> None:
    error = OSError("Query failed\n\tat a.b.C\nCaused by: Job aborted\n\tat d.E\nCaused by: No space left on device")

    summary = summarize(error, tmp_path)

    assert summary.splitlines()[0] == "No space left on device"
    assert "Job aborted" in (tmp_path / "error.txt").read_text(encoding="utf-8")


def test_an_expected_error_is_summarized_inside_the_block(tmp_path: Path) -> None:
    with pytest.raises(DemoFailed, match="the disk is full"), summarized_errors(tmp_path):
        raise OSError("the disk is full")
