"""`collect cloud`: files of a cloud provider, copied into the capture with a note of their kind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner

from leadsman.capture import read_manifest
from leadsman.cli.commands.collect import command

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.pipeline.events import EventRow

SAMPLES = Path(__file__).parents[1] / "telemetry" / "cloud"


def collected(*words: str) -> int:
    answer = CliRunner().invoke(command, ["cloud", *words], standalone_mode=False)
    assert answer.exception is None, answer.output
    return int(answer.return_value or 0)


def test_files_are_copied_with_a_note_of_what_they_are(tmp_path: Path) -> None:
    other = tmp_path / "billing.json"
    other.write_text('{"cost": 3}')

    code = collected(str(SAMPLES / "google-audit.json"), str(other), "--out", str(tmp_path / "c"), "--as", "kafka-2")

    manifest = read_manifest(tmp_path / "c")
    assert code == 0
    assert manifest is not None
    assert {item.file: item.note for item in manifest.items} == {
        "cloud/google-audit.json": "Maintenance of hosts",
        "cloud/billing.json": "not recognised: copied as it is",
    }


def test_what_is_copied_is_understood_as_the_file_was(tmp_path: Path, rows: Callable[[Path], list[EventRow]]) -> None:
    collected(str(SAMPLES / "google-metadata.txt"), "--out", str(tmp_path / "c"), "--as", "kafka-2")

    (event,) = [row for row in rows(tmp_path / "c") if row.name == "host.maintenance"]
    assert event.labels["host"] == "kafka-2"
    assert event.labels["action"] == "migrate"
    assert event.at is not None


def test_a_file_that_is_not_there_is_reported_as_missing(tmp_path: Path) -> None:
    code = collected(str(tmp_path / "none.json"), "--out", str(tmp_path / "c"))

    manifest = read_manifest(tmp_path / "c")
    assert code == 2
    assert manifest is not None
    assert "No such file" in manifest.absent[0].why
