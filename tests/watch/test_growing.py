"""A stream that is read piece by piece has the events of one that is read at once."""

from __future__ import annotations

import gzip
import pickle
import random
from dataclasses import replace
from datetime import UTC
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leadsman import modes
from leadsman.pipeline.events import batches
from leadsman.pipeline.read.growing import FileRange, GrowingStream, NotGrowing
from leadsman.pipeline.read.stream import in_order, read
from leadsman.pipeline.scope.streams import list_files

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from leadsman.pipeline.events import EventRow
    from leadsman.pipeline.scope.streams import File, Stream

CAPTURES = sorted(Path(next(iter(modes.__path__))).glob("*/recorded/*"))
STEPS = (100, 3000, 50_000, 400_000)
LINE = "2026-02-16 12:{:02d}:{:02d}.000 {}\n"


def read_to_end(reported: Iterable[EventRow | pa.RecordBatch]) -> list[str]:
    return sorted(str(row) for batch in batches(reported) for row in batch.to_pylist())


def cuts(data: bytes, chance: random.Random) -> list[int]:
    """Offsets of line ends, some hundred to some hundred thousand bytes apart, and the end."""
    ends = [0]
    while ends[-1] < len(data):
        target = min(len(data), ends[-1] + chance.choice(STEPS))
        end = len(data) if target == len(data) else data.rfind(b"\n", 0, target) + 1
        if end <= ends[-1]:
            newline = data.find(b"\n", ends[-1])
            end = len(data) if newline < 0 else newline + 1
        ends.append(end)
    return ends[1:]


def half_lines(data: bytes, ends: list[int], chance: random.Random) -> list[tuple[int, int]]:
    """Where each piece ends, and how many bytes of it are half a line: a part of the next one, or what ends a file."""
    pieces = []
    for end in ends:
        newline = data.find(b"\n", end)
        pieces.append((end, chance.randint(0, max(0, newline - end))))
    last = data.rfind(b"\n") + 1
    return [*(each for each in pieces if sum(each) < len(data)), (last, len(data) - last)]


def read_in_pieces(stream: Stream, chance: random.Random) -> list[str]:
    """The facts of all pieces and the last summary; the state goes through a file between any two pieces."""
    files = [file for file, _ in in_order(stream.files, UTC)]
    state = GrowingStream.begin(stream, 1)
    facts: list[EventRow | pa.RecordBatch] = []
    summary: list[EventRow | pa.RecordBatch] = []
    for number, file in enumerate(files):
        data = Path(file.path).read_bytes()
        for end, half in half_lines(data, cuts(data, chance), chance):
            read_before = [FileRange(each, each.path) for each in files[:number]]
            facts += state.read([*read_before, FileRange(replace(file, bytes=end + half), file.path, half)], UTC)
            summary = list(state.summary())
            state = pickle.loads(pickle.dumps(state))
    return read_to_end([*facts, *summary])


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: f"{path.parent.parent.name}/{path.name}")
def test_pieces_of_a_recorded_log_have_the_events_of_the_whole(capture: Path):
    chance = random.Random(capture.name)
    for stream in list_files(str(capture)).streams:
        try:
            in_pieces = read_in_pieces(stream, chance)
        except NotGrowing:
            continue
        assert in_pieces == read_to_end(read(stream, UTC)), stream.name


def test_some_recorded_streams_are_growing_logs():
    growing = [path for path in CAPTURES if any(is_growing(stream) for stream in list_files(str(path)).streams)]

    assert len(growing) > len(CAPTURES) / 2


def is_growing(stream: Stream) -> bool:
    try:
        read_in_pieces(stream, random.Random(1))
    except NotGrowing:
        return False
    return True


def made(folder: Path, *messages: str, name: str = "app.log", minute: int = 0) -> File:
    text = "".join(LINE.format(minute, second, message) for second, message in enumerate(messages))
    (folder / name).write_text(text)
    (stream,) = list_files(str(folder)).streams
    return next(file for file in stream.files if file.name == name)


def test_a_stack_trace_that_is_cut_between_two_pieces_is_one_error(tmp_path: Path):
    file = made(
        tmp_path, "ERROR Mail failed\njava.lang.IllegalStateException: full\n\tat Mails.send(Mails.java:1)", "INFO ok"
    )
    (stream,) = list_files(str(tmp_path)).streams
    ends = [place + 1 for place, letter in enumerate(Path(file.path).read_text()) if letter == "\n"]
    state = GrowingStream.begin(stream, 1)

    facts = [row for end in ends for row in state.read([FileRange(replace(file, bytes=end), "a")], UTC)]

    assert read_to_end([*facts, *state.summary()]) == read_to_end(read(stream, UTC))


def test_half_a_line_counts_until_its_rest_comes_and_then_as_one_with_it(tmp_path: Path):
    text = LINE.format(0, 1, "INFO ok") + LINE.format(0, 2, "ERROR org.apache.kafka.common.errors.TimeoutException: no")
    log = tmp_path / "app.log"
    log.write_text(text)
    (stream,) = list_files(str(tmp_path)).streams
    (file,) = stream.files
    state = GrowingStream.begin(stream, 1)
    whole = text.index("\n") + 1
    for end in range(whole, len(text)):
        facts = list(state.read([FileRange(replace(file, bytes=end), "a", half_line_bytes=end - whole)], UTC))
        log.write_text(text[:end])
        assert read_to_end([*facts, *state.summary()]) == read_to_end(read(stream_of(tmp_path), UTC)), text[whole:end]
        log.write_text(text)

    facts = list(state.read([FileRange(file, "a")], UTC))

    assert read_to_end([*facts, *state.summary()]) == read_to_end(read(stream, UTC))


def stream_of(folder: Path) -> Stream:
    (stream,) = list_files(str(folder)).streams
    return stream


def test_a_log_that_grows_after_its_successor_was_begun_is_refused(tmp_path: Path):
    older, newer = made(tmp_path, "INFO one", "INFO two", name="app.log.1"), made(tmp_path, "INFO three", minute=1)
    state = GrowingStream.begin(stream_of(tmp_path), 1)
    first_line = replace(older, bytes=older.bytes // 2)
    list(state.read([FileRange(first_line, "a"), FileRange(newer, "b")], UTC))

    list(state.read([FileRange(first_line, "a"), FileRange(newer, "b")], UTC))
    with pytest.raises(NotGrowing):
        list(state.read([FileRange(older, "a"), FileRange(newer, "b")], UTC))


def test_a_renamed_file_is_read_on_and_its_successor_follows(tmp_path: Path):
    first = made(tmp_path, "ERROR one failed", "ERROR two failed")
    (stream,) = list_files(str(tmp_path)).streams
    state = GrowingStream.begin(stream, 1)
    list(state.read([FileRange(first, "inode 1")], UTC))
    Path(first.path).rename(tmp_path / "app.log.1")
    made(tmp_path, *["INFO ok"] * 10, "ERROR three failed", minute=1)
    (stream,) = list_files(str(tmp_path)).streams
    renamed, successor = sorted(stream.files, key=lambda file: file.name, reverse=True)

    list(state.read([FileRange(renamed, "inode 1"), FileRange(successor, "inode 2")], UTC))

    in_pieces = [row.replace("app.log.1", "app.log") for row in read_to_end(state.summary())]
    assert sorted(in_pieces) == sorted(row.replace("app.log.1", "app.log") for row in read_to_end(read(stream, UTC)))


@pytest.mark.parametrize("lines", [0, 2, 30])
def test_a_log_that_is_compressed_is_read_on_where_it_was_and_once(tmp_path: Path, lines: int):
    text = "".join(LINE.format(0, second, f"ERROR mail {second} failed") for second in range(30)).encode()
    log, archive = tmp_path / "app.log", tmp_path / "app.log.1.gz"
    log.write_bytes(text)
    (stream,) = list_files(str(tmp_path)).streams
    state = GrowingStream.begin(stream, 1)
    read_so_far = sum(map(len, text.splitlines(keepends=True)[:lines]))
    facts = list(state.read([FileRange(replace(stream.files[0], bytes=read_so_far), "inode 1")], UTC))
    archive.write_bytes(gzip.compress(text))
    log.unlink()
    for count in (3, 5):  # the archive is not read again when the new log grows
        made(tmp_path, *["ERROR disk failed"] * count, minute=1)
        (stream,) = list_files(str(tmp_path)).streams
        by_name = {file.name: file for file in stream.files}
        facts += state.read(
            [FileRange(by_name["app.log.1.gz"], "inode 1"), FileRange(by_name["app.log"], "inode 2")], UTC
        )

    in_pieces = read_to_end([*facts, *state.summary()])

    expected = sorted(row.replace("app.log.1.gz", "app.log") for row in read_to_end(read(stream, UTC)))
    assert sorted(row.replace("app.log.1.gz", "app.log") for row in in_pieces) == expected


def test_a_damaged_archive_is_refused(tmp_path: Path):
    text = "".join(LINE.format(0, second % 60, f"ERROR mail {second} failed") for second in range(20_000)).encode()
    (tmp_path / "app.log.1.gz").write_bytes(gzip.compress(text)[:-2000])
    (stream,) = list_files(str(tmp_path)).streams

    with pytest.raises(NotGrowing):
        list(GrowingStream.begin(stream, 1).read([FileRange(stream.files[0], "a")], UTC))


def test_a_file_that_is_older_than_what_was_read_is_refused(tmp_path: Path):
    later = made(tmp_path, "INFO ok", name="app.log")
    earlier = made(tmp_path, "INFO ok", name="app.log.1")
    (stream,) = list_files(str(tmp_path)).streams
    state = GrowingStream.begin(stream, 1)
    list(state.read([FileRange(later, "b")], UTC))

    with pytest.raises(NotGrowing):
        list(state.read([FileRange(earlier, "a"), FileRange(later, "b")], UTC))


def test_a_program_s_output_is_refused(tmp_path: Path):
    (tmp_path / "neigh.json").write_text('[{"dst":"10.0.0.1","dev":"eth0","state":["STALE"]}]')
    (stream,) = list_files(str(tmp_path)).streams

    with pytest.raises(NotGrowing):
        list(GrowingStream.begin(stream, 1).read([FileRange(stream.files[0], "a")], UTC))


def test_the_cuts_are_ends_of_lines():
    data = b"".join(b"x" * (n % 90) + b"\n" for n in range(3000))
    ends = cuts(data, random.Random(3))

    assert ends[-1] == len(data)
    assert all(before < after and data[before - 1 : before] == b"\n" for before, after in pairwise(ends))
