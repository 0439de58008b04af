"""The plain commands that are printed are those that we run, and their output is a capture."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from leadsman.collect.collector import Probe
from leadsman.collect.script import script

if TYPE_CHECKING:
    from pathlib import Path

    from leadsman.collect.into import Folder

PROBES = (
    Probe(file="a.txt", source="words", argv=("printf", "it's\\nhere")),
    Probe(file="b.txt", source="words", argv=("no-such-program-at-all", "-x")),
)


def run(text: str) -> str:
    return subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True).stdout


def test_the_script_gives_what_the_collector_gives(folder: Folder) -> None:
    folder.take(PROBES[0])

    told = run(script("A test", PROBES[:1], "broker-1")).splitlines()

    ours = (folder.path / "a.txt").read_text().splitlines()
    assert told[0].split(" ")[3:] == ours[0].split(" ")[3:]
    assert [line for line in told[1:] if line] == ours[1:]


def test_what_fails_says_so_and_the_rest_goes_on() -> None:
    told = run(script("A test", reversed(PROBES)))

    assert "### leadsman exit 127\n" in told
    assert told.endswith("### leadsman exit 0\n")


def test_the_output_of_the_script_is_a_capture(rows, tmp_path: Path) -> None:
    (tmp_path / "pasted.txt").write_text(run(script("A test", PROBES, "broker-1")))

    (missing,) = [row for row in rows(tmp_path) if row.name == "item.missing"]

    assert "no-such-program-at-all" in missing.text
    assert missing.subject == "broker-1"
    assert missing.labels == {"command": "no-such-program-at-all -x", "what": "b.txt", "exit": "127"}
    assert missing.text == (tmp_path / "pasted.txt").read_text().splitlines()[missing.line - 1]


def test_why_a_command_failed_is_no_error_of_the_systems(folder: Folder, rows) -> None:
    folder.take(Probe(file="a.txt", source="words", argv=("sh", "-c", "echo 'KafkaTimeoutError: no' >&2; exit 1")))

    told = [row.name for row in rows(folder.path)]

    assert "item.missing" in told
    assert "error" not in told
