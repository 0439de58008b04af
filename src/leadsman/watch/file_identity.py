"""Finds which file is which after rotation, so that each line is read once: whatever was renamed, copied or compressed.

A file is the one of before where its inode is and what was read of it still stands there. A new file is one of before
where it begins with what was read of that one, and that one is gone: `copytruncate`, a move to another file system,
compression. As long as the other one is still there, a copy of it is being made, and is left out.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.pipeline.read.blocks import is_plain
from leadsman.pipeline.scope.copies import first_block, uncompressed_length

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leadsman.pipeline.scope.streams import File
    from leadsman.watch.positions import FilePosition

EDGE_BYTES = 1024
"""Of what was read of a file, the first and the last bytes are compared. Lines of logs differ by their times."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that is there now, and the position of the same file before; None where it is new."""

    file: File
    status: os.stat_result
    previous: FilePosition | None = None

    @property
    def identity(self) -> str:
        """What the file system calls it."""
        return f"{self.status.st_dev}:{self.status.st_ino}"

    @property
    def changed_us(self) -> int:
        """When it was written last, in microseconds since 1970."""
        return self.status.st_mtime_ns // 1000

    @property
    def is_untouched(self) -> bool:
        """Whether it has the size and the time of the last change that it had before."""
        previous = self.previous
        return previous is not None and (self.status.st_size, self.changed_us) == (previous.size, previous.changed_us)


def identified(files: Sequence[File], previous: Sequence[FilePosition]) -> Iterator[FoundFile]:
    """Yield the files of a stream that are there, each with its position before. Copies being made are left out."""
    by_inode = {each.inode: each for each in previous}
    there = [replace(each, previous=by_inode.get(each.identity)) for each in _there(files)]
    there = [each if _goes_on(each) else replace(each, previous=None) for each in there]
    present = {each.previous.key: each for each in there if each.previous}
    for each in there:
        if each.previous is not None:
            yield each
            continue
        origin = _origin(each, previous, present)
        if origin is None or _is_longer(each, present.get(origin.key)):
            yield each
        elif origin.key not in present:
            yield (found := replace(each, previous=origin))
            present[origin.key] = found


def edges(path: str, end: int) -> str:
    """Return a digest of the first and the last bytes before `end`."""
    with Path(path).open("rb", buffering=0) as raw:
        size = min(EDGE_BYTES, end)
        return f"{_digest(os.pread(raw.fileno(), size, 0))}:{_digest(os.pread(raw.fileno(), size, end - size))}"


def _there(files: Sequence[File]) -> Iterator[FoundFile]:
    for file in files:
        try:
            status = Path(file.path).stat()
        except OSError:
            continue  # it vanished
        yield FoundFile(file, status)


def _goes_on(found: FoundFile) -> bool:
    """Whether a file of the same inode is the one of before: it is no shorter, and what was read still stands there."""
    previous, status = found.previous, found.status
    if previous is None:
        return False
    if found.is_untouched:
        return True
    if status.st_size < previous.read_to or not previous.edges:
        return status.st_size >= previous.read_to and not previous.identity  # of a version that noted no edges
    try:
        return edges(found.file.path, previous.read_to) == previous.edges
    except OSError:
        return False


def _is_longer(found: FoundFile, present: FoundFile | None) -> bool:
    """Whether a file is more than a copy of another one that is there."""
    if present is None or not is_plain(found.file.path):
        return False
    return found.status.st_size > present.status.st_size


def _origin(
    found: FoundFile, previous: Sequence[FilePosition], present: Mapping[str, FoundFile]
) -> FilePosition | None:
    """Return the file of before with whose content a new file begins."""
    known = [each for each in previous if each.read_to and each.edges]
    try:
        if is_plain(found.file.path):
            return next((each for each in known if _begins_with(found, each)), None)
        head, length = first_block(found.file), uncompressed_length(found.file)
        return next(
            (each for each in known if _holds(head, each) and (each.key in present or length >= each.read_to)), None
        )
    except OSError:
        return None


def _begins_with(found: FoundFile, origin: FilePosition) -> bool:
    """Whether a plain file begins with what was read of another one."""
    return found.status.st_size >= origin.read_to and edges(found.file.path, origin.read_to) == origin.edges


def _holds(head: bytes, origin: FilePosition) -> bool:
    """Whether a compressed file begins as a plain one. As long as it is being written, its length says nothing."""
    size = min(EDGE_BYTES, origin.read_to)
    return len(head) >= size and _digest(head[:size]) == origin.edges.partition(":")[0]


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()
