"""Which bytes of growing files are read next: whole lines, each once, through rotation and truncation."""

from __future__ import annotations

import gzip
import os
import random
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leadsman.catalogue import MODES
from leadsman.watch import file_listing
from leadsman.watch.file_listing import LISTED_AGAIN_AFTER_SECONDS, FolderListing
from leadsman.watch.positions import PositionFiles, Positions, StreamPosition
from leadsman.watch.unchanged_copies import UNCHANGED_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

CAPTURE = MODES / "idle_disconnect" / "recorded" / "broken-java"


class Folder:
    """A folder that is looked at again and again."""

    def __init__(self, path: Path, max_bytes: int = 1 << 20) -> None:
        self.path = path
        self.listing = FolderListing([str(path)], max_bytes)
        self.positions: Positions = {}
        self.number = 0

    def look(self) -> dict[str, bytes]:
        """Return by file what is new, half lines included, and remember that whole lines were read."""
        before = {each.key: each.end for stream in self.streams() for each in stream.files}
        self.number += 1
        self.positions = self.listing.positions(self.positions, self.number)
        found = {}
        for stream in self.streams():
            for each in stream.files:
                if not Path(each.path).exists():
                    continue
                data = Path(each.path).read_bytes()[before.get(each.key, 0) : each.read_to]
                if data:
                    found[each.name] = data
        return found

    def streams(self) -> list[StreamPosition]:
        return [each for each in self.positions.values() if isinstance(each, StreamPosition)]

    def append(self, text: str, name: str = "app.log") -> None:
        with (self.path / name).open("a") as file:
            file.write(text)

    def age(self, name: str = "app.log") -> None:
        """Let a minute pass in which the file does not change."""
        changed = (self.path / name).stat().st_mtime - 60
        os.utime(self.path / name, (changed, changed))


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
    folder.age()

    assert folder.look() == {"app.log": b"two"}


def test_a_line_that_was_written_in_two_halves_is_read_again_as_a_whole(folder: Folder):
    folder.append("one\ntw")
    folder.age()
    assert folder.look() == {"app.log": b"one\ntw"}
    (before,) = folder.streams()
    folder.look()
    assert folder.streams() == [before]  # no trigger of the query for half a line that stays

    folder.append("o\nthree\n")

    assert folder.look() == {"app.log": b"two\nthree\n"}
    (after,) = folder.streams()
    assert [each.key for each in after.files] == [each.key for each in before.files]


def test_a_file_that_is_half_a_line_is_another_one_when_it_is_rewritten(folder: Folder):
    keys = set()
    for text in ('{"a": 1}', '{"b": 2}'):
        (folder.path / "app.log").write_text(text)
        folder.age()
        assert folder.look() == {"app.log": text.encode()}
        keys |= {each.key for stream in folder.streams() for each in stream.files}

    assert len(keys) == 2


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


def line(number: int) -> str:
    return f"2026-02-16 12:00:{number:02} line {number}\n"


def read_lines(found: dict[str, bytes]) -> list[str]:
    return b"".join(found.values()).decode().splitlines(keepends=True)


@pytest.mark.parametrize("looks_while_copied", [False, True])
def test_each_line_of_a_log_that_is_copied_and_truncated_is_found_once(folder: Folder, looks_while_copied: bool):  # noqa: FBT001 - a parameter
    log, found = folder.path / "app.log", []
    for number in range(40):
        folder.append(line(number))
        if number % 3 == 0:
            found += read_lines(folder.look())
        if number % 10 == 9:
            shutil.copyfile(log, folder.path / f"app.log.{number}")
            if looks_while_copied:
                found += read_lines(folder.look())
            os.truncate(log, 0)
    found += read_lines(folder.look())

    assert sorted(found) == sorted(map(line, range(40)))


def test_a_file_that_was_rewritten_in_place_begins_again_however_long_it_is(folder: Folder):
    for text in ("one\ntwo\n", "six\ntwo\n", "ten\ntwo\nthree\n"):
        (folder.path / "app.log").write_text(text)

        assert folder.look() == {"app.log": text.encode()}


def test_a_new_file_that_gets_the_inode_of_a_deleted_one_is_another_file(folder: Folder):
    keys = set()
    for number in range(5):
        folder.append(line(0))
        folder.append(line(number), name="app.log.1")
        folder.look()
        (stream,) = folder.streams()
        keys |= {each.key for each in stream.files if each.name == "app.log.1"}
        (folder.path / "app.log.1").unlink()
        folder.look()

    assert len(keys) == 5


def test_a_log_stays_the_same_file_when_it_is_compressed_or_moved_to_another_file_system(folder: Folder):
    folder.append(line(1))
    folder.look()
    (before,) = folder.streams()
    text = (folder.path / "app.log").read_bytes()
    (folder.path / "app.log").unlink()
    (folder.path / "app.log.1.gz").write_bytes(gzip.compress(text + line(2).encode()))
    folder.append(line(3))

    folder.look()

    (now,) = folder.streams()
    assert [each.key for each in before.files] == [each.key for each in now.files if each.name == "app.log.1.gz"]
    assert len({each.key for each in now.files}) == 2


def test_an_archive_is_left_out_while_its_log_is_there(folder: Folder):
    text = "".join(map(line, range(20_000)))
    folder.append(text)
    folder.look()
    archive = gzip.compress(text.encode())
    for end in (len(archive) // 2, len(archive)):
        (folder.path / "app.log.gz").write_bytes(archive[:end])

        assert folder.look() == {}


def test_a_log_that_begins_with_the_banner_of_another_one_is_read(folder: Folder):
    folder.append("=== service ===\n")
    folder.look()
    (folder.path / "app.log").rename(folder.path / "app.log.1")
    folder.append("=== service ===\n" + line(1))

    assert line(1) in read_lines(folder.look())


def test_a_copy_under_another_name_is_not_read_once_both_are_quiet_and_is_read_when_it_grows(folder: Folder):
    folder.append("".join(map(line, range(20))))
    folder.append("".join(map(line, range(20))), name="copy-of-app.log")
    folder.append("".join(map(line, range(20, 40))), name="other.log")

    def copies() -> dict[str, str]:
        folder.look()
        return {each.name: each.copy_of for each in folder.streams() if each.copy_of}

    assert copies() == {}, "a file that has just been written may go on"
    for path in folder.path.iterdir():
        os.utime(path, (time.time() - 2 * UNCHANGED_SECONDS,) * 2)
    assert copies() == {"copy-of-app.log": "app.log"}
    (folder.path / "app.log").unlink()
    assert copies() == {"copy-of-app.log": "app.log"}, "its lines were read"
    folder.append(line(50), name="copy-of-app.log")
    assert copies() == {}


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


def test_the_folders_that_are_left_out_are_not_read_nor_captures_in_them(tmp_path: Path):
    shutil.copytree(CAPTURE, tmp_path / "state" / "capture")
    shutil.copytree(CAPTURE, tmp_path / "capture")
    (tmp_path / "state" / "positions.json").write_text("{}")

    found = FolderListing([str(tmp_path)], without=(str(tmp_path / "state"),)).positions({}, 1)

    assert {capture for capture, _ in found} == {str(tmp_path / "capture")}


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


def test_where_nothing_changed_files_are_looked_at_and_not_listed(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    folder.append("one\n")
    folder.look()
    with monkeypatch.context() as patched:
        patched.setattr(file_listing, "list_captures", None)
        assert folder.look() == {}

    folder.append("two\n")

    assert folder.look() == {"app.log": b"two\n"}


def test_what_time_alone_changes_is_seen_ten_seconds_later(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    folder.append("one\n")
    folder.look()
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + LISTED_AGAIN_AFTER_SECONDS)
    monkeypatch.setattr(file_listing, "list_captures", None)

    with pytest.raises(TypeError):
        folder.look()


@pytest.mark.parametrize("seed", range(20))
def test_a_listing_that_remembers_finds_what_a_new_one_finds(seed: int, folder: Folder):
    """Whatever happens to files, half lines and archives too, and however often nothing does."""
    chance = random.Random(f"listing {seed}")
    names = ["a.log", "b.log", "c.log", "below/d.log"]
    (folder.path / "below").mkdir()

    def append() -> None:
        folder.append(chance.choice(["line\n", "half", "x" * 3000 + "\n"]), chance.choice(names))

    def on_a_file(change: Callable[[Path], object]) -> None:
        files = [each for each in folder.path.rglob("*") if each.is_file()]
        if files:
            change(chance.choice(files))

    def compress(path: Path) -> None:
        path.with_name(f"{path.name}.1.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()

    changes: list[Callable[[], object]] = [
        append,
        append,
        lambda: None,
        lambda: None,
        lambda: on_a_file(lambda path: path.rename(path.with_name(f"{path.name}.1"))),
        lambda: on_a_file(lambda path: path.unlink()),
        lambda: on_a_file(lambda path: os.truncate(path, path.stat().st_size // 2)),
        lambda: on_a_file(lambda path: shutil.copyfile(path, path.with_name(f"copy-{path.name}"))),
        lambda: on_a_file(lambda path: os.utime(path, (path.stat().st_mtime - 90,) * 2)),
        lambda: on_a_file(compress),
    ]
    for _ in range(60):
        chance.choice(changes)()
        before = folder.positions
        folder.look()
        fresh = FolderListing([str(folder.path)], folder.listing.max_bytes).positions(before, folder.number)
        assert folder.positions == fresh
