"""The campaign of interrupts sees what a command leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leadsman.lab.interrupting.commands import Command, every_command, incomplete_files
from leadsman.lab.interrupting.one_run import OUR_TRACEBACK, run
from leadsman.lab.processes.program import SOURCES

if TYPE_CHECKING:
    from pathlib import Path


def test_a_page_without_its_end_and_a_part_are_seen(tmp_path: Path) -> None:
    for name, text in {"a.html": "<html></html>\n", "b.html": "<html>", "c.json": '{"a":', "d.part": ""}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "lines.json").write_text('{"a": 1}\n{"a": 2}\n')

    found = incomplete_files(tmp_path)

    assert [name.rpartition("/")[2] for name in found] == ["b.html", "c.json", "d.part"]


@pytest.mark.parametrize(
    ("module", "is_ours"),
    [("leadsman/cli/__init__.py", True), ("leadsman/__main__.py", False), ("../.venv/lib/site.py", False)],
)
def test_a_traceback_of_a_module_of_ours_is_distinguished_from_one_of_pythons_start(
    module: str, *, is_ours: bool
) -> None:
    stderr = (
        f'Traceback (most recent call last):\n  File "{SOURCES}/{module}", line 5, in <module>\nKeyboardInterrupt\n'
    )

    assert bool(OUR_TRACEBACK.search(stderr)) == is_ours


@pytest.mark.parametrize("after", [0.02, 0.2, 0.4])
def test_an_interrupted_collection_leaves_nothing(after: float, tmp_path: Path) -> None:
    (command,) = (each for each in every_command() if each.name == "collect host")

    assert run(command, tmp_path, after=after, again_after=0.1).faults == {}


def test_an_unexpected_exit_code_is_seen(tmp_path: Path) -> None:
    outcome = run(Command("usage", ("diagnose",)), tmp_path, after=None)

    assert list(outcome.faults) == ["exit code"]
