"""The streams of which no event is kept any more: their positions and states are removed.

The watch knows when the last event of a stream has expired; the positions are written by the process that lists the
source, and the states by tasks. So the watch writes these streams to a file of the state, and the others read it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.replacing import replaced_file
from leadsman.watch.positions import StreamPosition, TopicPosition
from leadsman.watch.stream_states import StreamStates

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from leadsman.watch.positions import Position, Positions

SCHEMA = "leadsman.expired_streams/1"

KEPT_OFFSETS = 1000
"""Query offsets for which a writer of a topic is named: more than a Spark Connect server can be ahead of the watch."""


class ExpiredStreams:
    """The file of streams that expired, each with the query offset up to which that is true: later lines are new."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self) -> dict[tuple[str, str], int]:
        """Return the query offset of each stream that expired, by capture and name; none where the file is damaged."""
        try:
            document = json.loads(self._path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        return {(capture, name): query_offset for capture, name, query_offset in document["streams"]}

    def update(self, expired: Iterable[tuple[str, str]], positions: Positions, query_offset: int) -> None:
        """Add streams that expired by now; leave out those whose positions and states are gone, or that came back."""
        before = self.read()
        now = {key: at for key, at in before.items() if _is_awaited(key, at, positions)}
        now |= dict.fromkeys(expired, query_offset)
        if now != before:
            self._write(now)

    def _write(self, streams: Mapping[tuple[str, str], int]) -> None:
        document = {"schema": SCHEMA, "streams": [[*key, query_offset] for key, query_offset in streams.items()]}
        with replaced_file(self._path) as file:
            json.dump(document, file)

    @property
    def _path(self) -> Path:
        return self._folder / "expired_streams.json"


def without_expired(positions: Positions, earlier: Positions, folder: Path) -> Positions:
    """Return positions without those of streams that expired and whose files are gone; their states are removed.

    A restart that plans from `earlier` once more does not need them: what comes back under such a name is read from
    its beginning.
    """
    gone = {
        key
        for key, query_offset in ExpiredStreams(folder).read().items()
        if (position := positions.get(key)) is not None
        and position is earlier.get(key)
        and position.changed_in <= query_offset
        and isinstance(position, StreamPosition)
    }
    states = StreamStates(folder / "streams")
    for key in gone:
        states.remove(key)
    return {key: each for key, each in positions.items() if key not in gone} if gone else positions


def expired_writers(folder: Path, capture: str, topic: str) -> Iterator[tuple[str, int]]:
    """Yield the writers of a topic of whom nothing is kept, each with the query offset up to which that is true."""
    for (of_capture, stream), query_offset in ExpiredStreams(folder).read().items():
        if of_capture == capture and (writer := stream.removeprefix(f"{topic}/")) != stream:
            yield writer, query_offset


def streams_without_files(streams: Iterable[tuple[str, str]], positions: Positions) -> set[tuple[str, str]]:
    """Return the streams whose files are gone. Topics and servers have none; the writers of a topic are not among them.

    A stream without a position counts, too: where a watch ends after it dropped a stream from memory and before it
    removed it from the table, the position can be gone when the table is read again.
    """
    gone = {key for key, each in positions.items() if _is_deleted(each)}
    return gone | {key for key in streams if key not in positions and topic_of(key, positions) is None}


def _is_deleted(position: Position) -> bool:
    return isinstance(position, StreamPosition) and not any(Path(each.path).exists() for each in position.files)


def topic_of(key: tuple[str, str], positions: Positions) -> TopicPosition | None:
    """Return the topic in which the writer of a stream writes; None for a stream of files."""
    topic, slash, _ = key[1].partition("/")
    position = positions.get((key[0], topic)) if slash else None
    return position if isinstance(position, TopicPosition) else None


def _is_awaited(key: tuple[str, str], query_offset: int, positions: Positions) -> bool:
    """Whether a process can still have the position or the state of a stream that expired."""
    position: Position | None = topic_of(key, positions)
    if position is not None:
        return position.changed_in <= query_offset + KEPT_OFFSETS
    position = positions.get(key)
    return position is not None and position.changed_in <= query_offset
