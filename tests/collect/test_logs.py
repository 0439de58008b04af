"""`collect logs`: copies without secrets, whole lines, the end of what is large."""

from __future__ import annotations

import gzip
import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from leadsman.capture import read_manifest
from leadsman.cli.commands.collect import command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from leadsman.pipeline.events import EventRow

LINE = "2026-11-21 12:00:00,{:03d} INFO orders: [Producer clientId=p] password=hunter2 number {}\n"
LINES, LONGER_THAN_A_MEGABYTE = 200, 13_000
"""Lines of a log; the second number of them is longer than a megabyte."""


def collected(*words: str) -> int:
    answer = CliRunner().invoke(command, ["logs", *words], standalone_mode=False)
    assert answer.exception is None, answer.output
    return int(answer.return_value or 0)


def lines(count: int) -> str:
    return "".join(LINE.format(number % 1000, number) for number in range(count))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "var log"
    (folder / "old").mkdir(parents=True)
    (folder / "worker.log").write_text(lines(LINES))
    (folder / "old" / "worker.log").write_bytes(gzip.compress(LINE.format(0, "old").encode()))
    return folder


def copied(capture: Path, logs: Path, name: str) -> Path:
    return capture / "logs" / str(logs).lstrip("/").replace(" ", "_") / name


def test_files_are_copied_without_their_secrets(logs: Path, tmp_path: Path) -> None:
    code = collected(str(logs), "--out", str(tmp_path / "c"))

    assert code == 0
    assert copied(tmp_path / "c", logs, "worker.log").read_text().count("password=[hidden]") == LINES
    assert copied(tmp_path / "c", logs, "old/worker.log").read_text() == LINE.format(0, "old").replace(
        "hunter2", "[hidden]"
    )


def test_of_a_large_file_the_end_is_kept_in_whole_lines(logs: Path, tmp_path: Path) -> None:
    (logs / "worker.log").write_text(lines(LONGER_THAN_A_MEGABYTE))

    collected(str(logs / "worker.log"), "--max-mb", "1", "--out", str(tmp_path / "c"))

    kept = copied(tmp_path / "c", logs, "worker.log").read_text().splitlines()
    manifest = read_manifest(tmp_path / "c")
    assert kept[-1].endswith(f"number {LONGER_THAN_A_MEGABYTE - 1}")
    assert all(line.startswith("2026") for line in kept)
    assert all("password=[hidden]" in line for line in kept)
    assert len(kept) < LONGER_THAN_A_MEGABYTE
    assert manifest is not None
    assert [item.note for item in manifest.items if item.note] == ["the last 1 MiB of the file"]


def test_a_path_that_is_not_there_is_noted(rows: Callable[[Path], list[EventRow]], tmp_path: Path) -> None:
    code = collected(str(tmp_path / "no.log"), "--out", str(tmp_path / "c"))

    (missing,) = [row for row in rows(tmp_path / "c") if row.name == "item.not_collected"]
    assert code == 2
    assert str(missing.text) == f"{tmp_path / 'no.log'} does not exist"


def test_the_printed_commands_give_the_same_lines(
    logs: Path, rows: Callable[[Path], list[EventRow]], tmp_path: Path
) -> None:
    script = CliRunner().invoke(command, ["logs", str(logs / "worker.log"), "--print-commands"]).output

    pasted = subprocess.run(["sh"], input=script, capture_output=True, text=True, check=True).stdout
    (tmp_path / "pasted.txt").write_text(pasted)

    (active,) = [row for row in rows(tmp_path / "pasted.txt") if row.name == "subject.active"]
    assert active.value == LINES + 1  # the blank line before the exit code is one
    assert str(active.subject).endswith("worker.log")


def test_a_path_is_named_as_it_was_given(logs: Path, tmp_path: Path) -> None:
    paths = [str(logs), str(tmp_path / "no.log"), str(tmp_path / "none.log")]

    result = CliRunner().invoke(command, ["logs", *paths, "--out", str(tmp_path / "c")], standalone_mode=False)

    manifest = read_manifest(tmp_path / "c")
    assert result.return_value == 3
    assert "$file" not in result.output
    assert all(f"Not collected: {path} does not exist" in result.output for path in paths[1:])
    assert manifest is not None
    assert [each.what for each in manifest.absent] == paths[1:]
    assert all((tmp_path / "c" / item.file).is_file() for item in manifest.items)


def test_logs_beside_one_that_cannot_be_read_are_collected(logs: Path, tmp_path: Path) -> None:
    (logs / "worker.log.gz").write_bytes(b"\x1f\x8b broken")

    result = CliRunner().invoke(command, ["logs", str(logs), "--out", str(tmp_path / "c")], standalone_mode=False)

    assert result.return_value == 3
    assert f"Not complete: {logs}/worker.log.gz" in result.output
    assert copied(tmp_path / "c", logs, "worker.log").read_text().count("\n") == LINES


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_has_no_log_is_noted(kind: str, tmp_path: Path) -> None:
    path = tmp_path / kind
    path.mkdir() if kind == "folder" else os.mkfifo(path)

    result = CliRunner().invoke(command, ["logs", str(path), "--out", str(tmp_path / "c")], standalone_mode=False)

    assert result.return_value == 2
    assert f"Not collected: {path} " in result.output
