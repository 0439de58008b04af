"""Telemetry of failing clients: written line by line to a topic and to a folder, and what a reader finds in it.

Each failure is the recorded log of the clients of one cluster, with a cluster id of its own and its times as if it were
written now. What goes to the topic is also written to files: a reader of these says which events the topic holds.
"""

from __future__ import annotations

import re
import threading
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from leadsman.catalogue import Mode
from leadsman.pipeline.events import batches
from leadsman.pipeline.read.stream import read
from leadsman.pipeline.scope.streams import list_files
from leadsman.words import in_utc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from random import Random

    from confluent_kafka import Producer

RECORDING = Mode("idle_disconnect").folder / "recorded" / "broken-java" / "clients"
CLUSTER_ID = re.compile(r"Cluster ID: (\S+)")
TIME = re.compile(r"^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d", re.MULTILINE)
WRITES_EVERY_SECONDS = 0.05
MAX_WRITTEN = 4_000
"""Bytes of a file, or of lines of the topic, that are written at once. A write to a file may end within a line."""

FLUSH_SECONDS = 60.0


@dataclass(slots=True)
class FailingClients:
    """What writes: `files` is the watched folder, `reference` holds what was written to the topic."""

    files: Path
    reference: Path
    topic: str
    producer: Producer
    dice: Random
    _pieces: deque[tuple[Path, bytes]] = field(default_factory=deque)
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.files.mkdir()
        self._thread = threading.Thread(target=self._write_pieces, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        assert self._thread is not None
        self._thread.join()

    def begin(self, cluster: str, *, in_topic: bool) -> None:
        """Begin a failure: its lines are written from now on, in small pieces of one file or another."""
        root = self.reference if in_topic else self.files
        texts = recorded_failure(cluster, ends=datetime.now(UTC).replace(microsecond=0))
        left = {root / cluster / name: text for name, text in texts.items()}
        while left:
            path = self.dice.choice(list(left))
            end = self.dice.randint(1, MAX_WRITTEN)
            if in_topic:
                end = left[path].find(b"\n", end) + 1 or len(left[path])
            self._pieces.append((path, left[path][:end]))
            left[path] = left[path][end:]
            if not left[path]:
                del left[path]

    def is_written(self) -> bool:
        """Whether everything that was begun is in the files and acknowledged by the broker."""
        return not self._pieces and len(self.producer) == 0

    def events(self) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
        """Return the events of all that was written, as a reader of whole files finds them: of files, of the topic."""
        return list(_events(self.files)), list(_events(self.reference))

    def _write_pieces(self) -> None:
        while not self._over.wait(WRITES_EVERY_SECONDS):
            if self._pieces:
                self._write(*self._pieces[0])
                self._pieces.popleft()
            self.producer.poll(0)
        self.producer.flush(FLUSH_SECONDS)

    def _write(self, path: Path, piece: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(piece)
        if path.is_relative_to(self.reference):
            for line in piece.splitlines():
                self.producer.produce(self.topic, line, path.relative_to(self.reference).as_posix())


def recorded_failure(cluster: str, *, ends: datetime) -> dict[str, bytes]:
    """Return the recorded logs of failing clients by name, with another cluster id, and ending at a time."""
    texts = {path.name: CLUSTER_ID.sub(f"Cluster ID: {cluster}", path.read_text()) for path in RECORDING.glob("*.log")}
    last = max(_time(each) for text in texts.values() for each in TIME.finditer(text))
    shift = ends - last
    return {
        name: TIME.sub(lambda match: f"{_time(match) + shift:%Y-%m-%d %H:%M:%S}", text).encode()
        for name, text in texts.items()
    }


def _time(match: re.Match[str]) -> datetime:
    return datetime.fromisoformat(match[0]).replace(tzinfo=UTC)


def _events(folder: Path) -> Iterator[dict[str, object]]:
    if any(folder.rglob("*.log")):
        for stream in list_files(str(folder)).streams:
            yield from (row for batch in batches(read(stream, UTC)) for row in batch.to_pylist())


def comparable(rows: Iterable[dict[str, object]], prefix: str) -> list[str]:
    """Return events as text, sorted, without the names of folder and topic and the sizes of files."""
    return sorted(str(_without(row, prefix)) for row in rows)


def _without(row: dict[str, object], prefix: str) -> dict[str, object]:
    pairs, at = row["labels"], row["at"]
    assert isinstance(pairs, list)
    time = in_utc(at).isoformat() if isinstance(at, datetime) else None  # Spark writes times without a zone
    labels = sorted((key, str(text).removeprefix(prefix)) for key, text in pairs if key != "bytes")
    return {**row, "at": time, "capture": "", "file": str(row["file"]).removeprefix(prefix), "labels": labels}
