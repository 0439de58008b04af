"""Files and folders take the place of the old ones when they are complete, and never before."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from leadsman.errors import LeadsmanError
from leadsman.replacing import replaced_file, replaced_folder

if TYPE_CHECKING:
    from pathlib import Path

FULL = os.strerror(errno.ENOSPC)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write(file: Path, content: str, error: BaseException | None = None) -> None:
    with replaced_file(file) as stream:
        stream.write(content)
        if error:
            raise error


def fill(folder: Path, content: str, error: BaseException | None = None) -> None:
    with replaced_folder(folder) as fresh:
        fresh.mkdir()
        (fresh / "part-0").write_text(content)
        if error:
            raise error


def write_to_full_disk(file: Path) -> None:
    """/dev/full answers every write as a full disk does."""
    with replaced_file(file) as stream:
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, stream.fileno())
        os.close(full)
        stream.write("x" * 100_000)


def test_the_new_content_takes_the_place_of_the_old(tmp_path: Path) -> None:
    for content in ("old", "new"):
        write(tmp_path / "findings.json", content)
        fill(tmp_path / "events.parquet", content)

    assert (tmp_path / "findings.json").read_text() == "new"
    assert (tmp_path / "events.parquet" / "part-0").read_text() == "new"
    assert names(tmp_path) == ["events.parquet", "findings.json"]


def test_the_old_content_stays_until_the_new_is_complete(tmp_path: Path) -> None:
    write(tmp_path / "findings.json", "old")

    with replaced_file(tmp_path / "findings.json") as stream:
        stream.write("new")
        stream.flush()

        assert (tmp_path / "findings.json").read_text() == "old"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError()])
def test_an_interrupted_write_leaves_the_old_content_and_nothing_else(tmp_path: Path, error: BaseException) -> None:
    write(tmp_path / "findings.json", "old")
    fill(tmp_path / "events.parquet", "old")

    with pytest.raises(type(error)):
        write(tmp_path / "findings.json", "half", error)
    with pytest.raises(type(error)):
        fill(tmp_path / "events.parquet", "half", error)

    assert (tmp_path / "findings.json").read_text() == "old"
    assert (tmp_path / "events.parquet" / "part-0").read_text() == "old"
    assert names(tmp_path) == ["events.parquet", "findings.json"]


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, FULL), RuntimeError(f"Job aborted. Caused by: java.io.IOException: {FULL}")]
)
def test_a_full_disk_is_reported_with_what_is_still_there(tmp_path: Path, error: Exception) -> None:
    fill(tmp_path / "events.parquet", "old")

    with pytest.raises(LeadsmanError, match=rf"events\.parquet: {FULL}\. What was there before is unchanged\."):
        fill(tmp_path / "events.parquet", "half", error)


def test_a_real_full_disk_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(LeadsmanError, match=FULL):
        write_to_full_disk(tmp_path / "findings.json")

    assert names(tmp_path) == []
