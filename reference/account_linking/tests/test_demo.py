"""The demo's command line: what cannot work is said before anything is started."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from account_linking.demo import __main__ as demo
from account_linking.demo.trouble import DemoFailed, in_short, telling_why

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """A folder with something of somebody's in it."""
    (tmp_path / "thesis.txt").write_text("the only copy", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("words", [["--seconds", "5"], ["--seconds", "nan"], ["--seed", "x"], ["--nothing"]])
def test_what_is_no_argument_is_refused(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["demo", *words])

    with pytest.raises(SystemExit) as ended:
        demo.main()

    assert ended.value.code == 2


@pytest.mark.parametrize("out", ["", "thesis.txt"])
def test_what_is_somebody_elses_is_not_emptied(
    full: Path, out: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["demo", "--out", str(full / out)])

    with pytest.raises(SystemExit):
        demo.main()

    assert "holds something else than a demo's results" in capsys.readouterr().err
    assert (full / "thesis.txt").read_text(encoding="utf-8") == "the only copy"


def test_where_no_folder_can_be_made_the_demo_says_so(
    full: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["demo", "--out", str(full / "thesis.txt" / "out")])

    code = demo.main()

    assert code == demo.FAILED
    assert "Not a directory" in capsys.readouterr().out


def test_of_a_long_story_the_bottom_is_told_and_the_whole_is_kept(tmp_path: Path) -> None:
    story = OSError("Query failed\n\tat a.b.C\nCaused by: Job aborted\n\tat d.E\nCaused by: No space left on device")

    told = in_short(story, tmp_path)

    assert told.splitlines()[0] == "No space left on device"
    assert "Job aborted" in (tmp_path / "error.txt").read_text(encoding="utf-8")


def test_an_error_is_put_into_words_where_it_happens(tmp_path: Path) -> None:
    with pytest.raises(DemoFailed, match="the disk is full"), telling_why(tmp_path):
        raise OSError("the disk is full")
