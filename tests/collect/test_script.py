"""The plain commands that are printed are those that we run, and their output is a capture."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from leadsman.collect.collector import Probe
from leadsman.collect.shell_script import shell_script

if TYPE_CHECKING:
    from pathlib import Path

    from leadsman.collect.capture_folder import CaptureFolder

PROBES = (
    Probe(file="a.txt", source="words", argv=("printf", "it's\\nhere")),
    Probe(file="b.txt", source="words", argv=("no-such-program-at-all", "-x")),
)


def run(text: str) -> str:
    return subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True).stdout


def test_the_script_gives_what_the_collector_gives(folder: CaptureFolder) -> None:
    folder.collect(PROBES[0])

    output = run(shell_script("A test", PROBES[:1], "broker-1")).splitlines()

    ours = (folder.path / "a.txt").read_text().splitlines()
    assert output[0].split(" ")[3:] == ours[0].split(" ")[3:]
    assert [line for line in output[1:] if line] == ours[1:]


def test_what_fails_is_reported_and_the_rest_goes_on() -> None:
    output = run(shell_script("A test", reversed(PROBES)))

    assert "### leadsman exit 127\n" in output
    assert output.endswith("### leadsman exit 0\n")


def test_the_output_of_the_script_is_a_capture(rows, tmp_path: Path) -> None:
    (tmp_path / "pasted.txt").write_text(run(shell_script("A test", PROBES, "broker-1")))

    (missing,) = [row for row in rows(tmp_path) if row.name == "item.not_collected"]

    assert "no-such-program-at-all" in missing.text
    assert missing.subject == "broker-1"
    assert missing.labels == {"command": "no-such-program-at-all -x", "what": "b.txt", "exit": "127"}
    assert missing.text == (tmp_path / "pasted.txt").read_text().splitlines()[missing.line - 1]


def test_why_a_command_failed_is_no_error_of_the_systems(folder: CaptureFolder, rows) -> None:
    folder.collect(Probe(file="a.txt", source="words", argv=("sh", "-c", "echo 'KafkaTimeoutError: no' >&2; exit 1")))

    output = [row.name for row in rows(folder.path)]

    assert "item.not_collected" in output
    assert "error" not in output


def test_a_section_has_the_subject_of_its_item_else_that_of_the_call() -> None:
    probes = [
        Probe(file="prometheus/a.txt", source="metrics", shell_command="echo up 1", subject="broker-1:7071"),
        Probe(file="host/b.txt", source="host", shell_command="echo b"),
    ]
    script = shell_script("Two items", probes, "worker-1")
    output = subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True).stdout
    heads = [line.split(" ", 3)[3] for line in output.splitlines() if line.startswith("### leadsman 2")]
    assert heads == ["broker-1:7071 prometheus/a.txt $ echo up 1", "worker-1 host/b.txt $ echo b"]
