"""What probes bring into a capture: whole at any moment, secrets masked, and what was not collected."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leadsman.capture import read_manifest
from leadsman.collect.capture_folder import CaptureFolder
from leadsman.collect.collector import NotCollected, Probe
from leadsman.errors import CaptureError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def read(folder: CaptureFolder, file: str) -> list[str]:
    return (folder.path / file).read_text().splitlines()


def test_a_file_names_its_time_its_owner_and_its_command(folder: CaptureFolder) -> None:
    folder.collect(Probe(file="host/words.txt", source="words", argv=("echo", "two words")))

    assert read(folder, "host/words.txt") == [
        "### leadsman 2026-11-21T12:00:00.000Z broker-1 host/words.txt $ echo 'two words'",
        "two words",
        "### leadsman exit 0",
    ]


def test_the_manifest_names_every_item_and_its_command(folder: CaptureFolder) -> None:
    folder.collect(Probe(file="a.txt", source="words", argv=("echo", "a")))
    folder.close()

    manifest = read_manifest(folder.path)

    assert manifest is not None
    assert [(item.file, item.source, item.command) for item in manifest.items] == [("a.txt", "words", "echo a")]


def test_a_program_that_is_not_there_is_noted_with_the_reason(folder: CaptureFolder) -> None:
    why = folder.collect(Probe(file="a.txt", source="words", argv=("no-such-program-at-all",)))
    folder.close()

    manifest = read_manifest(folder.path)

    assert why == "There is no program no-such-program-at-all here"
    assert manifest is not None
    assert [(each.what, each.why) for each in manifest.absent] == [("a.txt", why)]
    assert read(folder, "a.txt")[1:] == [why, "### leadsman exit 1"]


def test_a_command_that_fails_keeps_its_output_and_its_reason(folder: CaptureFolder) -> None:
    folder.collect(Probe(file="a.txt", source="words", argv=("sh", "-c", "echo half; echo 'no rights' >&2; exit 7")))

    assert read(folder, "a.txt")[1:] == ["half", "no rights", "### leadsman exit 1"]


def test_a_command_that_hangs_is_ended(folder: CaptureFolder) -> None:
    probe = Probe(file="a.txt", source="words", argv=("sleep", "60"), timeout=timedelta(seconds=0.2))

    why = folder.collect(probe)

    assert why == "The command took longer than 0.2 s"


def test_secrets_never_reach_the_disk(folder: CaptureFolder, tmp_path: Path) -> None:
    planted = tmp_path / "planted"
    planted.write_text("ssl.key.password=hunter2\npassword: hunter2\nhttps://me:hunter2@host/\nBearer hunter2hunter2\n")

    folder.collect(Probe(file="a.txt", source="words", argv=("cat", str(planted))))
    folder.collect(Probe(file="b.txt", source="words", argv=("sh", "-c", "echo token=hunter2 >&2; exit 1")))
    folder.close()

    assert [path for path in folder.path.rglob("*.*") if "hunter2" in path.read_text()] == []


def test_a_secret_on_the_command_line_is_masked_in_head_and_manifest(tmp_path: Path) -> None:
    folder = CaptureFolder(path=tmp_path / "c", subject="h", ran="leadsman collect x --token=hunter2")
    folder.open()
    folder.collect(
        Probe(file="a.txt", source="words", argv=("echo", "--password=hunter2"), shell_command="x --password=hunter2")
    )
    folder.close()

    assert [path for path in folder.path.rglob("*.*") if "hunter2" in path.read_text()] == []


def test_taking_again_makes_a_series_in_one_file(folder: CaptureFolder) -> None:
    probe = Probe(file="a.txt", source="words", argv=("echo", "a"))

    folder.collect(probe)
    folder.collect(probe)

    assert [line.split(" ")[1] for line in read(folder, "a.txt") if line.startswith("###")] == ["leadsman"] * 4
    assert read(folder, "a.txt").count("a") == 2


def test_another_collector_adds_to_the_same_capture(folder: CaptureFolder) -> None:
    folder.collect(Probe(file="a.txt", source="words", argv=("echo", "a")))
    folder.close()
    second = CaptureFolder(path=folder.path, subject="broker-2", ran="leadsman collect other")

    second.open()
    second.collect(Probe(file="b.txt", source="words", argv=("false",)))
    second.close()
    manifest = read_manifest(folder.path)

    assert manifest is not None
    assert [item.file for item in manifest.items] == ["a.txt"]
    assert [each.what for each in manifest.absent] == ["b.txt"]
    assert manifest.ran == "leadsman collect test; leadsman collect other"


def test_a_folder_that_is_no_capture_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")

    with pytest.raises(CaptureError, match="is no capture"):
        CaptureFolder(path=tmp_path, subject="h", ran="").open()

    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_what_was_had_before_a_break_is_kept(folder: CaptureFolder) -> None:
    def take() -> Iterator[str]:
        yield "partition 1\n"
        raise NotCollected("the broker went away")

    folder.collect(Probe(file="a.txt", source="words", shell_command="ask", read=take))

    assert read(folder, "a.txt")[1:] == ["partition 1", "the broker went away", "### leadsman exit 1"]


def test_a_log_is_copied_as_it_is(folder: CaptureFolder) -> None:
    folder.collect(
        Probe(file="logs/a.log", source="log", argv=("echo", "2026-11-21 12:00:00 INFO hello"), has_own_times=True)
    )

    assert read(folder, "logs/a.log") == ["2026-11-21 12:00:00 INFO hello"]


def test_a_file_that_is_no_text_is_noted_as_unmasked(folder: CaptureFolder) -> None:
    folder.collect(Probe(file="heap.hprof", source="heap", shell_command="dump", write_to=_write))
    folder.close()

    manifest = read_manifest(folder.path)

    assert manifest is not None
    assert "could not be masked" in manifest.notes[0]


def _write(path: Path) -> None:
    path.write_bytes(b"\x00\x01")
