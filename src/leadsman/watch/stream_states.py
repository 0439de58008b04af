"""The states of streams between two offsets: one file for each stream and offset, written before the offset counts.

A state depends only on the bytes up to its offset. So a task that is run again writes the same state again, and a
query that is restarted from an earlier offset finds the state of that offset.
"""

from __future__ import annotations

import os
import pickle
import zlib
from collections import OrderedDict
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from leadsman import __version__

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = f"leadsman.stream_state/1 {__version__}".encode()
"""The first line of each state. A state of another version is not read: its stream is read from the beginning."""

MAX_CACHED = 2000
"""States that a worker keeps in memory, some 100 MB: a stream that grows in each trigger is not loaded again."""

_CACHED: OrderedDict[tuple[str, int], Any] = OrderedDict()


class StreamStates:
    """The folder of states, with one folder for each stream."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, key: tuple[str, str], number: int) -> Any:  # noqa: ANN401 - what `save` was given
        """Return the state of a stream in an offset; None where there is none that can be read."""
        path = self._path(key, number)
        cached = _CACHED.pop((str(path), number), None)
        if cached is not None:
            return cached
        try:
            schema, _, body = path.read_bytes().partition(b"\n")
            if schema != SCHEMA:
                return None
            return pickle.loads(zlib.decompress(body))  # noqa: S301 - written by this user's own query
        except (OSError, zlib.error, pickle.UnpicklingError, EOFError, AttributeError):
            return None

    def save(self, key: tuple[str, str], number: int, state: object, *, loaded: int) -> None:
        """Write the state of an offset. Only the state that this one was made from is kept beside it."""
        path = self._path(key, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{number}.{os.getpid()}")
        part.write_bytes(SCHEMA + b"\n" + zlib.compress(pickle.dumps(state), 1))
        part.replace(path)
        _CACHED[str(path), number] = state
        while len(_CACHED) > MAX_CACHED:
            _CACHED.popitem(last=False)
        for other in path.parent.iterdir():
            if other.name.isdigit() and int(other.name) not in (number, loaded):
                other.unlink(missing_ok=True)

    def _path(self, key: tuple[str, str], number: int) -> Path:
        digest = blake2b("\0".join(key).encode(), digest_size=16).hexdigest()
        return self._folder / digest[:2] / digest / str(number)
