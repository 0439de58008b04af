"""Copies new objects of object stores and HDFS to this machine, with the listing and reading of `leadsman diagnose`.

An object never changes, so it is read once, and whole. Spark's tasks read it in pieces, as many at a time as fit into
one job's result; this thread writes them to disk.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from leadsman.errors import CaptureError
from leadsman.pipeline.read.blocks import DecompressionError, blocks, is_plain
from leadsman.pipeline.scope.remote_files import (
    PIECE_BYTES,
    Piece,
    list_url,
    piece_requests,
    read_pieces,
    register_functions,
)
from leadsman.pipeline.scope.streams import File, Stream
from leadsman.pipeline.spark.executors import summarize_error
from leadsman.watch.objects.stored_objects import StoredObject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from leadsman.watch.objects.stored_objects import StoredObjects

LIST_EVERY_SECONDS = 10.0
"""Object stores charge for listings; exports come every minute at most."""

JOB_BYTES = 64 << 20
"""Bytes that one partition of a job returns: the driver has them in memory at once."""

BATCH_BYTES = 256 << 20
BATCH_OBJECTS = 500
"""What is copied before it counts: so much is copied again after a kill, at most."""

RETRY_SECONDS = 60.0
"""Of an object that could not be read."""

INCOMPLETE = ("._COPYING_",)
INCOMPLETE_FOLDERS = frozenset({"_temporary", ".hive-staging"})
"""Names that Hadoop's own tools and Spark give to what they still write, and rename then."""

DIRECTORY_OBJECT = "_$folder$"

Span = tuple[int, int, int]
"""Number of the object in its batch, offset, length."""


STOPS_WITHIN_SECONDS = 10.0


class Stopped(Exception):
    """The watch ends: what is not complete is copied by the next one."""


@dataclass(slots=True)
class ObjectFetcher:
    """Copies what appears below some URLs. `horizons` are those of the captures; `report` takes lines for the user."""

    spark: SparkSession
    urls: Sequence[str]
    store: StoredObjects
    report: Callable[[str], None]
    horizons: Callable[[], Mapping[str, datetime]] = dict
    clock: Callable[[], float] = time.monotonic
    over: threading.Event = field(default_factory=threading.Event)
    _unreachable_since: dict[str, float] = field(default_factory=dict)
    _failed: dict[str, tuple[float, str]] = field(default_factory=dict)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Copy in a thread until the end of the block."""
        register_functions(self.spark)
        thread = threading.Thread(target=self._run, name="objects", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.over.set()
            thread.join(STOPS_WITHIN_SECONDS)

    def _run(self) -> None:
        while not self.over.is_set():
            for url in self.urls:
                try:
                    self.fetch(url)
                except Exception as error:  # noqa: BLE001 - an edge: a store that cannot be reached must not end the watch
                    self._note_unreachable(url, summarize_error(error))
            self.store.expire(self.horizons())
            self.over.wait(LIST_EVERY_SECONDS)  # the interval of listings

    def fetch(self, url: str) -> None:
        """Copy the objects below a URL that are not here yet, the oldest first."""
        try:
            found = [each for each in list_url(self.spark, url) if isinstance(each, File)]
        except CaptureError as error:
            self._note_unreachable(url, str(error))
            return
        self._note_there(url)
        new = sorted(filter(lambda each: self._is_new(url, each), found), key=lambda each: (each.changed, each.name))
        for batch in _batches(new):
            self._copy(url, batch)

    def _is_new(self, url: str, file: File) -> bool:
        if is_incomplete(file.name) or self.store.has(url, file.path, size=file.bytes, changed_us=_microseconds(file)):
            return False
        failed = self._failed.get(file.path)
        return failed is None or self.clock() - failed[0] >= RETRY_SECONDS

    def _copy(self, url: str, batch: Sequence[File]) -> None:
        """Copy some objects; they count together."""
        copies: list[tuple[StoredObject, Path]] = []
        for number, pieces in groupby(self._pieces(url, batch), key=lambda piece: piece.stream):
            target = self.store.part.with_name(f".part-{number}")
            if problem := _write(pieces, target):
                self._note_failed(batch[number], problem)
            else:
                copies.append((_stored(url, batch[number]), decompressed(target)))
        if copies:
            self.store.add(copies)

    def _pieces(self, url: str, batch: Sequence[File]) -> Iterator[Piece]:
        """Yield the pieces of all objects in their order: one job after another, a bounded part of the bytes each."""
        shares = list(_shares(batch))
        streams = [[Stream(url, file.name, (file,)) for file in batch]] * len(shares)

        def requests(task: int, _: object) -> Iterator[pa.RecordBatch]:
            for number, offset, length in shares[task]:
                yield piece_requests(task, number, 0, file=batch[number], spans=[(offset, length)])

        rows = read_pieces(self.spark, streams, requests).select("task", "stream", "file", "piece.*")
        for row in rows.toLocalIterator():
            if self.over.is_set():
                raise Stopped
            yield Piece(row["task"], row["stream"], row["file"], row["content"], row["problem"])

    def _note_failed(self, file: File, problem: str) -> None:
        if self._failed.get(file.path, (0.0, ""))[1] != problem:
            self.report(f"{file.path} cannot be read: {problem}. It is tried again each minute.")
        self._failed[file.path] = self.clock(), problem

    def _note_unreachable(self, url: str, problem: str) -> None:
        if url not in self._unreachable_since and not self.over.is_set():
            self._unreachable_since[url] = self.clock()
            self.report(f"{url} cannot be read now, and is tried again: {problem}")

    def _note_there(self, url: str) -> None:
        if (since := self._unreachable_since.pop(url, None)) is not None:
            self.report(f"{url} is read again, after {round(self.clock() - since)} s.")


def is_incomplete(name: str) -> bool:
    """Whether an object is one that is still written under this name, or a folder's place holder."""
    folders = name.split("/")[:-1]
    return name.endswith((*INCOMPLETE, DIRECTORY_OBJECT)) or not INCOMPLETE_FOLDERS.isdisjoint(folders)


def _batches(files: Sequence[File]) -> Iterator[list[File]]:
    batch: list[File] = []
    for file in files:
        if batch and (len(batch) == BATCH_OBJECTS or sum(each.bytes for each in batch) + file.bytes > BATCH_BYTES):
            yield batch
            batch = []
        batch.append(file)
    if batch:
        yield batch


def _shares(batch: Sequence[File]) -> Iterator[list[Span]]:
    """Yield the pieces of all objects in their order, in shares of some bytes; one piece for an empty object."""
    share: list[Span] = []
    size = 0
    for number, file in enumerate(batch):
        for offset in range(0, max(file.bytes, 1), PIECE_BYTES):
            length = min(PIECE_BYTES, file.bytes - offset)
            if share and size + length > JOB_BYTES:
                yield share
                share, size = [], 0
            share.append((number, offset, length))
            size += length
    if share:
        yield share


def _write(pieces: Iterator[Piece], target: Path) -> str | None:
    """Write an object's pieces; return the reason of a failure. All pieces are consumed in any case."""
    problem: str | None = None
    with target.open("wb", buffering=0) as file:
        os.fchmod(file.fileno(), 0o600)
        for piece in pieces:
            problem = problem or piece.problem
            if problem is None:
                file.write(piece.content)
    return problem


def decompressed(path: Path) -> Path:
    """Return the copy of a compressed log without its compression, so that what comes later is appended to it.

    A damaged one stays as it is: its reading says what is wrong with it.
    """
    if is_plain(path):
        return path
    target = path.with_name(f"{path.name}-plain")
    try:
        with closing(blocks(path)) as opened, target.open("wb") as file:
            os.fchmod(file.fileno(), 0o600)
            for block in opened:
                file.write(block.data[: block.end])
    except (DecompressionError, OSError):
        target.unlink(missing_ok=True)
        return path
    path.unlink()
    return target


def _stored(url: str, file: File) -> StoredObject:
    return StoredObject(
        root=url,
        source=file.path,
        name=file.name,
        bytes=file.bytes,
        changed_us=_microseconds(file),
        size=file.bytes,
        number=0,
    )


def _microseconds(file: File) -> int:
    return round(file.changed.timestamp() * 1e6)
