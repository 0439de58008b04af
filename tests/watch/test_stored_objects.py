"""Copies of objects: each counts once, and what is read of them is what is read of the same files on disk."""

from __future__ import annotations

import gzip
import random
import shutil
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leadsman.catalogue import Mode
from leadsman.pipeline.request import find_input, read_small_input
from leadsman.watch.objects.fetching import decompressed, is_incomplete
from leadsman.watch.objects.listing import ObjectListing
from leadsman.watch.objects.stored_objects import CATALOG, StoredObject, StoredObjects

from .in_process import InProcessWatch

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

ROOT = "s3a://bucket/logs"
LOGS = sorted((Mode("idle_disconnect").folder / "recorded" / "broken-java" / "clients").glob("*.log"))
DAY = datetime(2026, 11, 21, tzinfo=UTC)


def stored(name: str, size: int, *, minute: int = 0) -> StoredObject:
    changed = round((DAY + timedelta(minutes=minute)).timestamp() * 1e6)
    return StoredObject(
        root=ROOT, source=f"{ROOT}/{name}", name=name, bytes=size, changed_us=changed, size=size, number=0
    )


def add(store: StoredObjects, path: Path, *, minute: int = 0) -> None:
    """Add a file as the fetcher adds an object."""
    part = store.part
    shutil.copy(path, part)
    store.add([(stored(path.name, path.stat().st_size, minute=minute), decompressed(part))])


def parts(folder: Path, number: random.Random) -> list[Path]:
    """Each log in some objects of an export, the oldest first."""
    folder.mkdir()
    found = []
    for log in LOGS:
        lines = log.read_bytes().splitlines(keepends=True)
        cuts = sorted(number.sample(range(1, len(lines)), k=3))
        for day, (begin, end) in enumerate(zip([0, *cuts], [*cuts, len(lines)], strict=True)):
            content = b"".join(lines[begin:end])
            is_packed = number.random() < 0.5
            path = folder / f"{log.stem}-2026112{day}.log{'.gz' if is_packed else ''}"
            path.write_bytes(gzip.compress(content) if is_packed else content)
            found.append((day, path))
    return [path for _, path in sorted(found)]


def facts(table: pa.Table) -> Counter[tuple[Any, ...]]:
    columns = ("name", "subject", "at", "file", "line", "text", "value")
    return Counter(tuple(row[name] for name in columns) for row in table.to_pylist())


def on_disk(folder: Path) -> Counter[tuple[Any, ...]]:
    events = read_small_input(find_input([str(folder)])).events
    assert events is not None
    return facts(events)


def watch_of(folder: Path, **options: int) -> InProcessWatch:
    return InProcessWatch(None, ObjectListing([str(folder)], **options), folder.parent / "states")  # type: ignore[arg-type]  # needs no Spark to read


@pytest.mark.parametrize("seed", range(8))
def test_objects_in_any_batches_have_the_events_of_the_same_files_on_disk(tmp_path: Path, seed: int) -> None:
    number = random.Random(seed)
    files = parts(tmp_path / "files", number)
    if seed % 2:
        number.shuffle(files)  # an object that is older than what was read comes to light
    store, watch = (
        StoredObjects(tmp_path / "objects"),
        watch_of(tmp_path / "objects", max_bytes=number.choice([1, 9000])),
    )

    for minute, path in enumerate(files):
        add(store, path, minute=minute)
        if number.random() < 0.4:
            watch.read()
        if number.random() < 0.3:
            store = StoredObjects(tmp_path / "objects")
    for _ in files:
        watch.read()

    assert facts(watch.events.table()) == on_disk(tmp_path / "files")


def test_an_object_that_was_being_copied_when_the_writer_was_killed_is_copied_again(tmp_path: Path) -> None:
    folder = tmp_path / "objects"
    store = StoredObjects(folder)
    add(store, LOGS[0])
    add(store, LOGS[1])
    lines = (folder / CATALOG).read_bytes().splitlines(keepends=True)
    (folder / CATALOG).write_bytes(lines[0] + lines[1][:30])
    store.part.write_bytes(b"2026-11-21 09:04:00,000 INFO half a l")

    again = StoredObjects(folder)
    is_there = [
        again.has(ROOT, f"{ROOT}/{each.name}", size=each.stat().st_size, changed_us=stored("", 0).changed_us)
        for each in LOGS[:2]
    ]
    add(again, LOGS[1])
    watch = watch_of(folder)
    watch.read()

    files = Counter(row[3] for row in facts(watch.events.table()) if row[0] == "file.read")
    assert is_there == [True, False]
    assert files == {LOGS[0].name: 1, LOGS[1].name: 1}
    assert not store.part.exists()


def test_an_object_that_was_written_anew_replaces_its_events(tmp_path: Path) -> None:
    store, watch = StoredObjects(tmp_path / "objects"), watch_of(tmp_path / "objects")
    (tmp_path / "files").mkdir()
    path = tmp_path / "files" / "app.log"
    path.write_bytes(LOGS[0].read_bytes()[:3000].rpartition(b"\n")[0] + b"\n")
    add(store, path)
    watch.read()
    path.write_bytes(LOGS[0].read_bytes())
    add(store, path, minute=1)
    watch.read()

    assert facts(watch.events.table()) == on_disk(tmp_path / "files")


def test_an_expired_copy_is_removed_and_its_object_is_not_copied_again(tmp_path: Path) -> None:
    store = StoredObjects(tmp_path / "objects")
    add(store, LOGS[0], minute=1)
    add(store, LOGS[1], minute=3)

    store.expire({ROOT: DAY + timedelta(minutes=2), "/elsewhere": DAY + timedelta(days=9)})

    old = stored(LOGS[0].name, LOGS[0].stat().st_size, minute=1)
    assert [path.name for path in sorted((tmp_path / "objects" / "0").iterdir())] == ["2"]
    assert StoredObjects(tmp_path / "objects").has(ROOT, old.source, size=old.bytes, changed_us=old.changed_us)


def test_a_damaged_archive_is_kept_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(b"2026-11-21 09:04:00,000 INFO a: b\n" * 999)[:60])

    assert decompressed(path) == path
    assert [each.name for each in tmp_path.iterdir()] == ["cut.gz"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("2026/11/21/part-00000.gz", False),
        ("app.log._COPYING_", True),
        ("_temporary/0/part-00000", True),
        ("logs_$folder$", True),
        ("_temporary.log", False),
    ],
)
def test_names_of_what_is_still_written_are_left_out(name: str, expected: bool) -> None:  # noqa: FBT001 - a parameter
    assert is_incomplete(name) is expected
