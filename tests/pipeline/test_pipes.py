"""Standard input and pipes are read once, into files that are deleted afterwards."""

import os
import pty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from leadsman.errors import CaptureError, UsageError
from leadsman.pipeline.request import find_input
from leadsman.pipeline.scope.pipes import spool_pipes

LINES = b"2026-11-21 07:58:49,000 INFO one\n" * 100_000


@contextmanager
def standard_input(descriptor: int) -> Iterator[None]:
    before = os.dup(0)
    os.dup2(descriptor, 0)
    try:
        yield
    finally:
        os.dup2(before, 0)
        os.close(before)


@pytest.fixture
def pipe() -> Iterator[int]:
    """A pipe into which a program writes more than a pipe holds."""
    reading, writing = os.pipe()
    writer = Thread(target=lambda: os.fdopen(writing, "wb").write(LINES))
    writer.start()
    yield reading
    os.close(reading)
    writer.join()


def test_standard_input_is_one_named_file_that_is_deleted_at_the_end(pipe: int):
    with standard_input(pipe), spool_pipes(["-", "-", "elsewhere"]) as pipes:
        (stream,) = find_input(["-"], pipes=pipes).streams
        (file,) = stream.files
        content = Path(file.path).read_bytes()
        mode = Path(file.path).parent.stat().st_mode & 0o777

    assert content == LINES
    assert (stream.capture, file.name, file.bytes, mode) == ("-", "standard input", len(LINES), 0o700)
    assert not Path(file.path).exists()


def test_several_pipes_are_several_captures(pipe: int, tmp_path: Path):
    os.mkfifo(tmp_path / "fifo")
    Thread(target=lambda: (tmp_path / "fifo").write_bytes(b"two\n")).start()
    paths = [f"/dev/fd/{pipe}", str(tmp_path / "fifo")]

    with spool_pipes(paths) as pipes:
        read = {path: Path(file.path).read_bytes() for path, file in pipes.items()}

    assert read == {paths[0]: LINES, paths[1]: b"two\n"}


def test_no_file_is_left_where_reading_is_interrupted(pipe: int):
    places: list[Path] = []

    def broken_off() -> None:
        with spool_pipes([f"/dev/fd/{pipe}"]) as pipes:
            places.extend(Path(file.path) for file in pipes.values())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert [place.parent.exists() for place in places] == [False]


def test_a_terminal_is_rejected_with_the_remedy():
    mine, theirs = pty.openpty()

    with standard_input(theirs), pytest.raises(UsageError, match="kubectl logs"), spool_pipes(["-"]):
        pass

    os.close(mine)
    os.close(theirs)


def test_an_empty_input_is_rejected_by_its_name():
    with (
        Path(os.devnull).open("rb") as nothing,
        standard_input(nothing.fileno()),
        pytest.raises(CaptureError, match="standard input is empty"),
        spool_pipes(["-"]),
    ):
        pass


def test_a_link_that_is_named_is_followed(tmp_path: Path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "app.log").write_bytes(b"one\n")
    (tmp_path / "current.log").symlink_to(tmp_path / "logs" / "app.log")

    (stream,) = find_input([str(tmp_path / "current.log")]).streams

    assert [file.name for file in stream.files] == ["current.log"]
