"""The states of streams between two query offsets: one file for each stream and offset, written before that counts.

A state depends only on the bytes up to its query offset. So a task that is run again writes the same state again, and a
query that is restarted from an earlier offset finds the state of that offset.
"""

from __future__ import annotations

import os
import pickle
import zlib
from collections import OrderedDict
from functools import cache
from hashlib import blake2b
from shutil import rmtree
from typing import TYPE_CHECKING, Any, NamedTuple

from leadsman import __version__
from leadsman.telemetry.source import all_signatures

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = "leadsman.stream_state/5"


@cache
def first_line() -> bytes:
    """Return the first line of each state. A state with another one is not read: its stream is read from the beginning.

    A state has signatures by their numbers, so it is read only with the same signatures in the same order.
    """
    signatures = "\0".join(f"{source.name} {signature}" for source, signature, _ in all_signatures())
    return f"{SCHEMA} {__version__} {blake2b(signatures.encode(), digest_size=8).hexdigest()}".encode()


MAX_CACHED_BYTES = 16 << 20
"""Of the states that a worker keeps in memory, by their size on disk: a stream that grows in each trigger is not loaded
again. In memory a state takes some ten times as much."""


class CachedState(NamedTuple):
    """The state of a stream in a query offset, and its size on disk."""

    query_offset: int
    state: Any
    bytes: int


class StateCache:
    """The last states of streams in this process, by the folder of the stream; those that were used last are kept."""

    def __init__(self) -> None:
        self._states: OrderedDict[Path, CachedState] = OrderedDict()
        self._bytes = 0

    def take(self, folder: Path, query_offset: int) -> Any:  # noqa: ANN401 - what was put in
        """Return the state of a query offset and forget it, because its reader changes it. None where there is none."""
        cached = self._states.pop(folder, None)
        if cached is None:
            return None
        self._bytes -= cached.bytes
        return cached.state if cached.query_offset == query_offset else None

    def put(self, folder: Path, cached: CachedState) -> None:
        """Keep a state, in place of the one before."""
        self.take(folder, cached.query_offset)
        self._states[folder] = cached
        self._bytes += cached.bytes
        while self._bytes > MAX_CACHED_BYTES:
            _, dropped = self._states.popitem(last=False)
            self._bytes -= dropped.bytes

    def clear(self) -> None:
        """Forget all states, as a new process has none."""
        self._states.clear()
        self._bytes = 0


_CACHED = StateCache()


class StreamStates:
    """The folder of states, with one folder for each stream."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, key: tuple[str, str], query_offset: int) -> Any:  # noqa: ANN401 - what `save` was given
        """Return the state of a stream in a query offset; None where there is none that can be read."""
        path = self._path(key, query_offset)
        cached = _CACHED.take(path.parent, query_offset)
        if cached is not None:
            return cached
        try:
            line, _, body = path.read_bytes().partition(b"\n")
            if line != first_line():
                return None
            return pickle.loads(zlib.decompress(body))  # noqa: S301 - written by this user's own query
        except (OSError, zlib.error, pickle.UnpicklingError, EOFError, AttributeError):
            return None

    def save(self, key: tuple[str, str], query_offset: int, state: object, *, made_from: int) -> None:
        """Write the state of a query offset. Of earlier ones only that of `made_from` is kept, from which it was made.

        Later ones are left: a task that was given up as lost can come to its end after the next offset was read.
        """
        path = self._path(key, query_offset)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{query_offset}.{os.getpid()}")
        content = first_line() + b"\n" + zlib.compress(pickle.dumps(state), 1)
        part.write_bytes(content)
        part.replace(path)
        _CACHED.put(path.parent, CachedState(query_offset, state, len(content)))
        for other in path.parent.iterdir():
            if other.name.isdigit() and int(other.name) < query_offset and int(other.name) != made_from:
                other.unlink(missing_ok=True)

    def remove(self, key: tuple[str, str]) -> None:
        """Remove all states of a stream."""
        folder = self._path(key, 0).parent
        _CACHED.take(folder, 0)
        rmtree(folder, ignore_errors=True)

    def _path(self, key: tuple[str, str], query_offset: int) -> Path:
        digest = blake2b("\0".join(key).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
        return self._folder / digest[:2] / digest / str(query_offset)
