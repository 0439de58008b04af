"""Finds the copies among watched files: of files that no longer change, each content is read once.

While a file grows, nobody can say whether it will stay a copy. So a copy counts twice until both files have been
unchanged for a minute; then its events are dropped. They come back when it grows on.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import UTC
from functools import lru_cache
from typing import TYPE_CHECKING

from leadsman.pipeline.scope.copies import (
    HEAD_BYTES,
    digest,
    drop_duplicate_files,
    first_block,
    has_unique_times,
    uncompressed_length,
)
from leadsman.pipeline.scope.streams import COMPRESSED, CaptureFiles, File

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from leadsman.pipeline.scope.streams import Stream
    from leadsman.watch.positions import StreamPosition

UNCHANGED_SECONDS = 60
"""Of two files that are written side by side, one is often ahead of the other; neither is unchanged for so long."""

MAX_REMEMBERED = 20_000
"""Files whose content was measured. Few have the length of another one."""

_length = lru_cache(MAX_REMEMBERED)(uncompressed_length)
_digest = lru_cache(MAX_REMEMBERED)(digest)


@dataclass(frozen=True, slots=True)
class UnchangedFileMeasures:
    """Measures files that no longer change, each once. The content of all others matches no other."""

    now: float

    def lengths(self, files: Sequence[File]) -> Sequence[int]:
        """Return the lengths that compressed files state."""
        return [self._is_unchanged(file) and _length(file) for file in files]

    def heads(self, files: Sequence[File]) -> Sequence[Hashable]:
        """Return the first bytes of each content."""
        return [self._is_unchanged(file) and _head(file) for file in files]

    def digests(self, files: Sequence[File]) -> Sequence[Hashable]:
        """Return the digest of each content."""
        return [_digest(file) for file in files]

    def are_unique(self, files: Sequence[File]) -> Sequence[bool]:
        """Return whether the contents have times that no other file can have."""
        return [_has_unique_times(file) for file in files]

    def _is_unchanged(self, file: File) -> bool:
        return self.now - file.changed.timestamp() >= UNCHANGED_SECONDS


def copies_among(positions: Iterable[StreamPosition]) -> dict[tuple[str, str], str]:
    """Return the streams all of whose files are copies: of each key the name of the file that its first one copies."""
    captures: dict[str, list[StreamPosition]] = defaultdict(list)
    for each in positions:
        captures[each.capture].append(each)
    found = {path: CaptureFiles(tuple(_candidates(members)), ()) for path, members in captures.items()}
    copies: dict[tuple[str, str], str] = {}
    for path, files in drop_duplicate_files(found, UnchangedFileMeasures(time.time())).items():
        originals = {each.file: each.of for each in files.copies}
        kept = {stream.name for stream in files.streams}
        left_out = [stream for stream in found[path].streams if stream.name not in kept]
        copies |= {(path, stream.name): originals[stream.files[0].name] for stream in left_out}
    return copies


def _candidates(positions: Sequence[StreamPosition]) -> Iterator[Stream]:
    """Yield the streams that were read to their ends, and whose files can have the length of other ones.

    Ten thousand files are looked at in each trigger, and few have the length of another one. What a compressed file
    holds can be of any length.
    """
    sizes = Counter(file.size for each in positions for file in each.files)
    has_archives = any(file.name.endswith(COMPRESSED) for each in positions for file in each.files)
    for each in positions:
        if (has_archives or any(sizes[file.size] > 1 for file in each.files)) and all(
            file.read_to == file.size for file in each.files
        ):
            yield each.stream


@lru_cache(MAX_REMEMBERED)
def _head(file: File) -> bytes:
    return first_block(file)[:HEAD_BYTES]


@lru_cache(MAX_REMEMBERED)
def _has_unique_times(file: File) -> bool:
    return has_unique_times(file, UTC)
