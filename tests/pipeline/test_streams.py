"""Which files are read, which belong to one another, and which are refused with a reason."""

import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leadsman.catalogue import MODES
from leadsman.errors import CaptureError
from leadsman.model import Diagnosis, Verdict
from leadsman.pipeline.request import find_input
from leadsman.pipeline.scope.streams import File, Stream, balance_streams, list_files, stream_name

STREAMS = {
    "app.log": "app.log",
    "app.log.1": "app.log",
    "app.log.12.gz": "app.log",
    "app.log-20210216.zst": "app.log",
    "app.2021-02-16.log": "app.log",
    "logs/server.log.2021-02-16-13": "logs/server.log",
    "2020/12/20/[$LATEST]8f3c/000000.gz": "2020/12/20/[$LATEST]8f3c",
    "000017.gz": "000000",
    "app-2021-02-16-13.log.gz": "app.log",
    "app.2021-02-16.3.log": "app.log",
    "app.log-1613433600": "app.log",
    "app_20210216T130000Z.log.bz2": "app.log",
    "worker-10.0.3.17.log": "worker-10.0.3.17.log",
    "10.0.3.17": "10.0.3.17",
    "10.0.3.17.log.4": "10.0.3.17.log",
    "4711.log": "4711.log",
    "worker-1.log": "worker-1.log",
    "worker-2": "worker-2",
}


@pytest.mark.parametrize(("name", "stream"), STREAMS.items(), ids=STREAMS)
def test_rotated_and_numbered_files_belong_to_one_stream(name: str, stream: str):
    assert stream_name(name) == stream


@pytest.mark.parametrize("name", ["[$LATEST]8f3c", "a b", "new\nline", "st*r", "que?tion", "curly{}"])
def test_no_character_of_a_name_is_a_wildcard(name: str, tmp_path: Path):
    (tmp_path / name).write_text("x\n")

    (stream,) = list_files(str(tmp_path)).streams

    assert stream.files[0].name == name


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path):
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_text("x\n")
    (tmp_path / "in" / "link").symlink_to(tmp_path / "secret")

    found = list_files(str(tmp_path / "in"))

    assert found.streams == ()
    assert "symbolic link" in found.skipped[0].why


def test_what_is_no_regular_file_is_refused(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")

    assert list_files(str(tmp_path)).skipped[0].why == "not a regular file"


def test_a_missing_path_is_an_error_with_what_to_give_instead(tmp_path: Path):
    with pytest.raises(CaptureError, match="no such file or folder"):
        list_files(str(tmp_path / "nothing"))


def test_the_manifest_is_not_telemetry(tmp_path: Path):
    (tmp_path / "manifest.json").write_text("{}")

    assert list_files(str(tmp_path)).streams == ()


@pytest.mark.parametrize("text", ["", "null", '{"files": []}', '{"cluster": "a", "recorded_from": "2026-02-16T12:'])
def test_what_was_a_manifest_or_is_another_programs_is_named(tmp_path: Path, text: str):
    (tmp_path / "manifest.json").write_text(text)

    (named,) = list_files(str(tmp_path)).skipped
    assert named.file == "manifest.json"
    assert "read as bare logs" in named.why


def test_names_that_are_not_utf_8_are_spelled_out(tmp_path: Path):
    for name in (b"\xff.log", b"\xfe.log", "Zürich.log".encode()):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("a line\n")

    found = list_files(str(tmp_path))

    assert sorted(file.name for stream in found.streams for file in stream.files) == [
        "Zürich.log",
        "\\xfe.log",
        "\\xff.log",
    ]
    assert all(Path(file.path).exists() for stream in found.streams for file in stream.files)


@pytest.mark.spark
def test_a_capture_whose_name_is_not_utf_8_is_diagnosed_under_its_name_spelled_out(
    diagnosed: Callable[..., list[Diagnosis]], tmp_path: Path
):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/cap\xff"))
    shutil.copytree(MODES / "idle_disconnect" / "recorded" / "broken-java", folder)

    (found,) = diagnosed([folder])

    assert found.path == f"{tmp_path}/cap\\xff"
    assert found.verdicts["idle_disconnect"] is Verdict.PRESENT


def test_tasks_get_equal_shares():
    now = datetime(2026, 2, 16, tzinfo=UTC)
    streams = [Stream("c", str(size), (File("", str(size), size << 20, now),)) for size in (9, 7, 5, 3, 2, 2)]

    shares = balance_streams(streams, 2)

    assert sorted(sum(stream.bytes for stream in share) >> 20 for share in shares) == [14, 14]


def test_a_folder_of_captures_is_each_of_them_and_what_else_lies_there(tmp_path: Path):
    for name in ("east", "west/2021"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "manifest.json").write_text('{"schema": "leadsman.capture/1"}')
        (tmp_path / name / "app.log").write_text("a line\n")
    (tmp_path / "notes.log").write_text("a line\n")

    found = find_input([str(tmp_path)]).captures

    assert list(found) == [str(tmp_path), str(tmp_path / "east"), str(tmp_path / "west" / "2021")]
    assert [[stream.name for stream in each.streams] for each in found.values()] == [
        ["notes.log"],
        ["app.log"],
        ["app.log"],
    ]


def test_another_programs_manifest_makes_no_capture(tmp_path: Path):
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "manifest.json").write_text('{"files": []}')

    found = find_input([str(tmp_path)]).captures

    assert list(found) == [str(tmp_path)]
