"""What happens to files between their listing and their reading costs nothing: neither the watch, nor a line."""

from __future__ import annotations

import gzip
import random
from datetime import UTC
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from leadsman.pipeline.events import ARROW_SCHEMA
from leadsman.pipeline.read import log_lines
from leadsman.pipeline.spark.packed_events import decompress
from leadsman.watch.event_store import CurrentEvents, EventBatch
from leadsman.watch.file_listing import FolderListing
from leadsman.watch.positions import StreamPosition
from leadsman.watch.stream_changes import StreamChange, read_change

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from leadsman.watch.positions import Positions

LINE = "2026-02-16 12:{:02d}:{:02d}.000 ERROR {} failed\n"


class SlowReader:
    """Reads a folder trigger by trigger; between the listing and the reading something may happen to the files."""

    def __init__(self, folder: Path, states: Path) -> None:
        self.folder, self.states = folder, states
        self.listing = FolderListing([str(folder)])
        self.positions: Positions = {}
        self.events = CurrentEvents()
        self.query_offset = 0

    def trigger(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        query_offset, previous = self.query_offset + 1, self.positions
        now = self.listing.positions(previous, query_offset)
        meanwhile()
        for key, each in now.items():
            if isinstance(each, StreamPosition) and previous.get(key) is not each:
                earlier = previous[key].changed_in if key in previous else 0
                self._apply(StreamChange(each, query_offset, earlier))
        self.query_offset, self.positions = query_offset, now

    def errors(self) -> list[str]:
        """The errors that were read, without the names of their files."""
        rows = self.events.table().to_pylist()
        return sorted(str(row["text"]) for row in rows if row["name"] == "error")

    def not_understood(self) -> list[str]:
        rows = self.events.table().to_pylist()
        return [str(row["text"]) for row in rows if row["name"] == "file.not_understood"]

    def _apply(self, change: StreamChange) -> None:
        for batch in read_change(change, self.states, UTC):
            self.events.apply(_batch(row) for row in batch.to_pylist())


def _batch(row: dict[str, Any]) -> EventBatch:
    events = decompress(pa.py_buffer(row["events"])) if row["count"] else ARROW_SCHEMA.empty_table()
    return EventBatch(row["capture"], row["stream"], row["version"], row["number"], row["kind"], events)


@pytest.fixture
def reader(tmp_path: Path) -> SlowReader:
    (tmp_path / "logs").mkdir()
    return SlowReader(tmp_path / "logs", tmp_path / "states")


def append(path: Path, number: int) -> str:
    with path.open("a") as file:
        kind = "".join("abcdefghij"[int(digit)] for digit in str(number))  # errors of one kind are counted
        file.write(line := LINE.format(number // 60, number % 60, kind))
    return line.rstrip("\n")


@pytest.mark.parametrize("seed", range(8))
def test_a_log_that_is_rotated_at_any_moment_is_read_once(seed: int, reader: SlowReader):
    chance, log = random.Random(seed), reader.folder / "app.log"
    written: list[str] = []

    def rotate() -> None:
        if chance.random() < 0.5:
            return
        older = reader.folder / f"app.log.{len(written)}"
        log.rename(older)
        if chance.random() < 0.5:
            older.with_name(f"{older.name}.gz").write_bytes(gzip.compress(older.read_bytes()))
            older.unlink()

    for _ in range(12):
        for _ in range(chance.randint(1, 5)):
            written.append(append(log, len(written)))
        reader.trigger(rotate)
    reader.trigger()
    reader.trigger()

    assert reader.errors() == sorted(written)


def test_a_log_that_is_deleted_before_it_is_read_ends_nothing(reader: SlowReader):
    log = reader.folder / "app.log"
    first = append(log, 1)
    reader.trigger()
    append(log, 2)
    reader.trigger(log.unlink)
    third = append(log, 3)
    reader.trigger()

    assert reader.errors() == [first, third]


def test_what_a_parser_raises_is_reported_of_its_file_and_the_others_are_read(
    reader: SlowReader, monkeypatch: pytest.MonkeyPatch
):
    read_lines = log_lines.FileReading.read_lines

    def poisoned(self: Any, data: bytes) -> Any:
        if b"poison" in data:
            raise ValueError("poisoned")
        return read_lines(self, data)

    monkeypatch.setattr(log_lines.FileReading, "read_lines", poisoned)
    (reader.folder / "bad.log").write_text(LINE.format(0, 1, "poison"))
    good = append(reader.folder / "good.log", 2)
    reader.trigger()

    assert reader.errors() == [good]
    assert any("poisoned" in each for each in reader.not_understood())
