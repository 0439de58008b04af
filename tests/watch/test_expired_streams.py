"""Logs of processes that come and go: what was kept of one is removed with its last event, and names can come back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from leadsman.watch.event_store import CurrentEvents, changes_of
from leadsman.watch.expired_streams import ExpiredStreams, streams_without_files
from leadsman.watch.file_listing import FolderListing
from leadsman.watch.source import NUMBER, WatchReader, WatchRequest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
RETENTION = timedelta(hours=3)


class FolderWatch:
    """A watch of a folder. Each trigger takes the steps that Spark takes, in its order."""

    def __init__(self, folder: Path, state: Path) -> None:
        self.capture = str(folder)
        self.state = state
        self.request = WatchRequest(FolderListing([str(folder)]), str(state), UTC, 2)
        self.events = CurrentEvents()
        self.offset = {NUMBER: 0}
        self.restart()

    def restart(self) -> None:
        """Begin again from the last offset, as a new process does."""
        self.reader = WatchReader(self.request)

    def trigger(self) -> None:
        now = self.reader.latestOffset(self.offset)
        rows = [
            row
            for partition in self.reader.partitions(self.offset, now)
            for batch in self.reader.read(partition)  # type: ignore[arg-type]  # a partition of its own
            for row in batch.to_pylist()
        ]
        self.events.apply(changes_of(rows))
        self.offset = now
        self.reader.commit(now)

    def expire(self, horizon: datetime) -> None:
        positions = self.request.positions.read(self.offset[NUMBER])
        deleted = streams_without_files(self.events.streams(), positions)
        dropped = self.events.expire({self.capture: horizon}, deleted)
        ExpiredStreams(self.state).update(dropped, positions, self.offset[NUMBER])

    def errors(self, file: str) -> list[tuple[int, float]]:
        """The errors of a file: the line of the first one of a kind, and how many there were."""
        rows = self.events.table().to_pylist()
        return [(row["line"], row["value"]) for row in rows if row["file"] == file and row["name"] == "error"]

    def kept(self) -> tuple[int, int, int, int]:
        """How many positions, states, streams with events, and names of streams that expired there are."""
        states = len(list((self.state / "streams").glob("*/*")))
        positions = self.request.positions.read(self.offset[NUMBER])
        return len(positions), states, len(self.events.streams()), len(ExpiredStreams(self.state).read())


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, int], None]:
    folder = tmp_path / "logs"
    folder.mkdir()

    def run(name: str, hour: int) -> None:
        with (folder / f"{name}.log").open("a") as file:
            for minute in (1, 2):
                at = BEGIN + timedelta(hours=hour, minutes=minute)
                file.write(
                    f"{at:%Y-%m-%d %H:%M:%S},000 ERROR order {name} of hour {hour} failed: Error{name.upper()}\n"
                )

    return run


@pytest.fixture
def watch(tmp_path: Path) -> FolderWatch:
    (tmp_path / "state").mkdir()
    return FolderWatch(tmp_path / "logs", tmp_path / "state")


@pytest.mark.parametrize("restarts", [False, True])
def test_a_job_of_each_hour_leaves_nothing_behind_for_ever(
    restarts: bool,  # noqa: FBT001 - a parameter
    write: Callable[[str, int], None],
    watch: FolderWatch,
    tmp_path: Path,
):
    kept = []
    for hour in range(24):
        write("job" + chr(ord("a") + hour), hour)
        watch.trigger()
        (tmp_path / "logs" / f"job{chr(ord('a') + hour)}.log").unlink()
        watch.expire(BEGIN + timedelta(hours=hour) - RETENTION)
        if restarts:
            watch.restart()
        kept.append(watch.kept())

    assert max(kept[12:]) <= max(kept[:12])
    assert max(map(max, kept)) <= 8, kept


def test_a_name_that_comes_back_is_read_from_its_beginning(
    write: Callable[[str, int], None], watch: FolderWatch, tmp_path: Path
):
    for hour, name in enumerate(("first", *["other"] * 8)):
        write(name, hour)
        watch.trigger()
        (tmp_path / "logs" / "first.log").unlink(missing_ok=True)
        watch.expire(BEGIN + timedelta(hours=hour) - RETENTION)
    assert watch.events.streams() == [(watch.capture, "other.log")]

    write("first", 9)
    watch.trigger()
    write("first", 10)
    watch.trigger()

    lines = [
        row["line"] for row in watch.events.table().to_pylist() if row["file"] == "first.log" and row["name"] == "error"
    ]
    counted = [
        row["value"]
        for row in watch.events.table().to_pylist()
        if row["file"] == "first.log" and row["name"] == "error"
    ]
    assert (lines, counted) == ([1], [4.0])


def test_what_comes_back_before_the_next_look_is_not_forgotten(
    write: Callable[[str, int], None], watch: FolderWatch, tmp_path: Path
):
    """The watch writes that a stream has expired while the listing already has its new file."""
    write("first", 0)
    watch.trigger()
    (tmp_path / "logs" / "first.log").unlink()
    before = watch.offset[NUMBER]
    write("first", 9)
    watch.trigger()
    positions = watch.request.positions.read(watch.offset[NUMBER])
    ExpiredStreams(watch.state).update([(watch.capture, "first.log")], positions, before)
    write("first", 10)

    watch.trigger()

    assert watch.errors("first.log") == [(1, 6.0)]
    assert watch.kept()[:2] == (1, 1)


def test_what_a_table_still_has_of_a_stream_without_a_position_is_dropped_after_a_restart(
    write: Callable[[str, int], None], watch: FolderWatch, tmp_path: Path
):
    """A kill came between dropping a stream from memory and removing it from the table."""
    for name in ("first", "other"):
        write(name, 0)
    watch.trigger()
    in_table = watch.events
    (tmp_path / "logs" / "first.log").unlink()
    positions = watch.request.positions.read(watch.offset[NUMBER])
    ExpiredStreams(watch.state).update([(watch.capture, "first.log")], positions, watch.offset[NUMBER])
    for hour in (5, 6):
        write("other", hour)
        watch.trigger()
    assert watch.kept()[0] == 1  # the position is gone

    watch.events = in_table
    watch.restart()
    watch.expire(BEGIN + timedelta(hours=3))

    assert watch.events.streams() == [(watch.capture, "other.log")]
