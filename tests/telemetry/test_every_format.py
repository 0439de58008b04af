"""`recording_formats.txt` says in which format each kind of file of the recordings is read. Digits are an N there."""

from __future__ import annotations

import re
import sys
import zipfile
from collections import defaultdict
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import leadsman
from leadsman.sections import read_sections
from leadsman.telemetry.discovery import declared_in
from leadsman.telemetry.format import NotText, RecognisedFormat
from leadsman.telemetry.recognise import all_formats, recognise
from leadsman.telemetry.timestamps.line_timestamps import all_timestamp_formats

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

MODES = Path(leadsman.__file__).with_name("modes")
EXPECTED = Path(__file__).with_name("recording_formats.txt").read_text().splitlines()
LATEST = datetime(2026, 11, 23, tzinfo=UTC)
HEAD_BYTES = 1 << 20


def without_numbers(path: str) -> str:
    return re.sub(r"\d+", "N", path)


def named(form: RecognisedFormat | NotText) -> str:
    return f"not text: {form.why}" if isinstance(form, NotText) else ", ".join(form.names)


def formats_of(file: str, data: bytes) -> Iterator[tuple[str, str]]:
    """The format of a file, and those of its sections whose command succeeded."""
    form = recognise(data[:HEAD_BYTES], zone=UTC, latest=LATEST)
    yield file, named(form)
    if isinstance(form, RecognisedFormat) and form.recognise_section is not None:
        for section in read_sections([data]):
            body = b"".join(section.body)
            if not section.exit:
                yield f"{file} > {without_numbers(section.section.file)}", named(form.recognise_section(body))


def test_every_file_of_the_recordings_is_read_in_its_format() -> None:
    found = defaultdict(set)

    for recording in MODES.glob("*/recorded/*"):
        for path in (each for each in recording.rglob("*") if each.is_file()):
            for file, name in formats_of(without_numbers(path.relative_to(recording).as_posix()), path.read_bytes()):
                found[file].add(name)

    assert [f"{file}: {' | '.join(sorted(names))}" for file, names in sorted(found.items())] == EXPECTED


def test_no_two_formats_have_the_same_priority() -> None:
    priorities = [each.priority for each in all_formats()]

    assert len(set(priorities)) == len(priorities)


def test_no_two_timestamp_formats_have_the_same_priority() -> None:
    priorities = [each.priority for each in all_timestamp_formats()]

    assert len(set(priorities)) == len(priorities)


def test_the_last_format_matches_every_text() -> None:
    assert all_formats()[-1].name == "plain lines"


def test_a_new_module_is_found_without_a_list_also_in_a_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "declared.zip", "w") as archive:
        archive.writestr("declared_formats/__init__.py", "")
        archive.writestr("declared_formats/room/__init__.py", "")
        archive.writestr("declared_formats/room/new_format.py", 'FORMAT = "new format"\n')
        archive.writestr("declared_formats/other.py", 'FORMAT = "other"\n')
    monkeypatch.setattr(sys, "path", [str(tmp_path / "declared.zip"), *sys.path])

    found = declared_in(import_module("declared_formats"), "FORMAT")

    assert sorted(found) == ["new format", "other"]
