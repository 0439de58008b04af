"""Which bytes of growing files are read next: whole lines, each once, through rotation and truncation."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from leadsman.watch.file_listing import FolderListing
from leadsman.watch.positions import PositionFiles, Positions, StreamPosition


class Folder:
    """A folder that is looked at again and again; `appended` collects what each look adds."""

    def __init__(self, path: Path, max_bytes: int = 1 << 20) -> None:
        self.path = path
        self.listing = FolderListing([str(path)], max_bytes)
        self.positions: Positions = {}
        self.number = 0

    def look(self) -> dict[str, bytes]:
        """Return by file what is new, and remember that it was read."""
        before = {each.key: each.end for stream in self._streams() for each in stream.files}
        self.number += 1
        self.positions = self.listing.positions(self.positions, self.number)
        found = {}
        for stream in self._streams():
            for each in stream.files:
                if not Path(each.path).exists():
                    continue
                data = Path(each.path).read_bytes()[before.get(each.key, 0) : each.end]
                if data:
                    found[each.name] = data
        return found

    def _streams(self) -> list[StreamPosition]:
        return [each for each in self.positions.values() if isinstance(each, StreamPosition)]

    def append(self, text: str, name: str = "app.log") -> None:
        with (self.path / name).open("a") as file:
            file.write(text)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_appended_lines_are_found_once(folder: Folder):
    folder.append("one\n")
    assert folder.look() == {"app.log": b"one\n"}
    folder.append("two\n")
    assert folder.look() == {"app.log": b"two\n"}
    assert folder.look() == {}


def test_half_a_line_waits_for_its_end(folder: Folder):
    folder.append("one\ntw")
    assert folder.look() == {"app.log": b"one\n"}
    folder.append("o\n")
    assert folder.look() == {"app.log": b"two\n"}


def test_a_last_line_without_a_newline_is_read_when_nothing_follows(folder: Folder):
    folder.append("one\ntwo")
    folder.look()
    long_ago = time.time() - 60
    os.utime(folder.path / "app.log", (long_ago, long_ago))

    assert folder.look() == {"app.log": b"two"}


def test_a_rotated_file_is_read_to_its_end_and_its_successor_from_its_beginning(folder: Folder):
    folder.append("one\n")
    folder.look()
    folder.append("two\n")
    (folder.path / "app.log").rename(folder.path / "app.log.1")
    folder.append("three\n")

    assert folder.look() == {"app.log.1": b"two\n", "app.log": b"three\n"}


def test_a_file_that_is_truncated_in_place_begins_again(folder: Folder):
    folder.append("one\ntwo\nthree\n")
    folder.look()
    os.truncate(folder.path / "app.log", 0)
    folder.append("four\n")

    assert folder.look() == {"app.log": b"four\n"}


def test_one_look_takes_no_more_bytes_than_it_may(tmp_path: Path):
    folder = Folder(tmp_path, max_bytes=10)
    folder.append("1234\n" * 5)

    looks = [folder.look() for _ in range(4)]

    assert b"".join(look.get("app.log", b"") for look in looks) == b"1234\n" * 5
    assert all(len(data) <= 10 for look in looks for data in look.values())


def test_nothing_changes_where_nothing_is_appended(folder: Folder):
    folder.append("one\n")
    folder.look()
    before = folder.positions

    folder.look()

    assert folder.positions == before


def test_a_folder_that_does_not_exist_yet_is_empty(tmp_path: Path):
    folder = Folder(tmp_path / "later")
    assert folder.look() == {}
    folder.path.mkdir()
    folder.append("one\n")
    assert folder.look() == {"app.log": b"one\n"}


def test_deleted_files_leave_the_stream_s_position(folder: Folder):
    folder.append("one\n")
    folder.look()
    (folder.path / "app.log").unlink()

    assert folder.look() == {}
    assert len(folder.positions) == 1


def test_positions_are_read_as_they_were_written(folder: Folder, tmp_path: Path):
    folder.append("one\n")
    folder.look()
    files = PositionFiles(tmp_path / "state")

    files.write(1, folder.positions)

    assert files.read(1) == folder.positions
    assert files.read(0) == {}
