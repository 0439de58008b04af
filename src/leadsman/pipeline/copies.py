"""Finds files that stand in a capture twice, so that each is read once: also where one of them is compressed.

Two files of the same content are the same telemetry only where the content could not come about twice. A log is known
by its times. What two hosts print can be the same to the byte, and so can a cluster's state at two moments: such files
are copies only where their names say so.
"""

from __future__ import annotations

import re
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from leadsman.pipeline.blocks import Unreadable, blocks
from leadsman.pipeline.streams import COMPRESSED, Copy, File
from leadsman.telemetry.format import Format
from leadsman.telemetry.recognise import recognise

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
    from datetime import tzinfo

    from leadsman.pipeline.streams import Found

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"

ZSTD_HEADER = 18
"""Bytes, at most. A whole file has more."""

GZIP_TRAILER = 4
"""Bytes: the content's length, at the very end."""

HEAD_BYTES = 4096
"""By these most files of one length are told apart, and need not be read to their ends."""

TIMES_OF_ITS_OWN = 10
"""Different times that no two writers have in common, in the same words. A line or two, to the second, may be."""

LINES_LOOKED_AT = 1000

WITH_THEIR_OWN_TIMES = frozenset({"prometheus_range", "heap_dump"})
"""Outputs that no two programs can have alike: series with names and times; a process's memory."""

COPY = re.compile(r"^copy[ _-]of[ _-]|[ _.-]*(?:\(\d\)|\(?copy\)?(?:[ _-]?\d)?|bak|orig|old)(?=\.|$)|~$", re.IGNORECASE)
"""`app (1).log`, `app - Copy.log`, `app.log.bak`, `copy-of-app.log`."""


class Measures(Protocol):
    """What is measured of files, many at once: on disk here, by tasks for files that lie elsewhere."""

    def lengths(self, files: Sequence[File]) -> Sequence[int]:
        """Return what compressed files say of their contents' lengths, 0 where they say nothing."""

    def heads(self, files: Sequence[File]) -> Sequence[Hashable]:
        """Return something by which the beginnings of contents differ; an empty one where there is none."""

    def digests(self, files: Sequence[File]) -> Sequence[Hashable]:
        """Return something by which contents differ; an empty one where they cannot be read."""

    def timed(self, files: Sequence[File]) -> Sequence[bool]:
        """Return whether contents have times of their own, which nothing else can have alike."""


@dataclass(frozen=True, slots=True)
class OnDisk:
    """Measures files of this machine."""

    zone: tzinfo

    def lengths(self, files: Sequence[File]) -> Sequence[int]:
        """Read a header or trailer each."""
        return [unpacked_length(file) for file in files]

    def heads(self, files: Sequence[File]) -> Sequence[Hashable]:
        """Read a block each."""
        return [head(file)[:HEAD_BYTES] for file in files]

    def digests(self, files: Sequence[File]) -> Sequence[Hashable]:
        """Read all."""
        return [digest(file) for file in files]

    def timed(self, files: Sequence[File]) -> Sequence[bool]:
        """Read a block each."""
        return [has_its_own_times(file, self.zone) for file in files]


def without_copies(found: Mapping[str, Found], measures: Measures) -> dict[str, Found]:
    """Return what was found in each capture, each file once: of several copies the one with the shortest name."""
    groups = _same(found, measures)
    timed = measures.timed([files[0] for _, files in groups])
    copies: dict[str, dict[str, Copy]] = {path: {} for path in found}
    for (path, files), known in zip(groups, timed, strict=True):
        copies[path] |= {copy.file: copy for copy in _copies(files, known=known)}
    return {path: _without(each, copies[path]) for path, each in found.items()}


def _without(found: Found, copies: Mapping[str, Copy]) -> Found:
    if not copies:
        return found
    kept = [
        replace(each, files=tuple(file for file in each.files if file.name not in copies)) for each in found.streams
    ]
    return replace(
        found,
        streams=tuple(stream for stream in kept if stream.files),
        copies=tuple(copies[name] for name in sorted(copies)),
    )


def _same(found: Mapping[str, Found], measures: Measures) -> list[tuple[str, list[File]]]:
    """Return the groups of files of one capture that have the same content, to the byte."""
    files = [(path, file) for path, each in found.items() for stream in each.streams for file in stream.files]
    groups = _regrouped(files, _lengths(files, measures))
    for measure in (measures.heads, measures.digests):
        files = [(path, file) for path, members in groups for file in members]
        of_group = [number for number, (_, members) in enumerate(groups) for _ in members]
        keys = measure([file for _, file in files])
        groups = _regrouped(files, [key and (number, key) for number, key in zip(of_group, keys, strict=True)])
    return groups


def _regrouped(files: Sequence[tuple[str, File]], keys: Sequence[Hashable]) -> list[tuple[str, list[File]]]:
    """Return the files of a capture that have a key in common. An empty key is none."""
    by_key: dict[Hashable, list[File]] = defaultdict(list)
    paths: dict[Hashable, str] = {}
    for (path, file), key in zip(files, keys, strict=True):
        if key:
            by_key[path, key].append(file)
            paths[path, key] = path
    return [(paths[key], members) for key, members in by_key.items() if len(members) > 1]


def _lengths(files: Sequence[tuple[str, File]], measures: Measures) -> list[int]:
    """Return the lengths of the contents. bzip2 tells none: it may be that of the file with its name."""
    packed = [(path, file) for path, file in files if file.name.endswith(COMPRESSED)]
    lengths = {(path, file.name): file.bytes for path, file in files}
    measured = measures.lengths([file for _, file in packed])
    lengths |= {(path, file.name): length for (path, file), length in zip(packed, measured, strict=True)}
    for path, file in packed:
        lengths[path, file.name] = lengths[path, file.name] or lengths.get((path, _bare(file.name)), 0)
    return [lengths[path, file.name] for path, file in files]


def _groups(keyed: Iterable[tuple[File, Hashable]]) -> Iterator[list[File]]:
    by_key: dict[Hashable, list[File]] = defaultdict(list)
    for file, key in keyed:
        by_key[key].append(file)
    return (files for files in by_key.values() if len(files) > 1)


def _bare(name: str) -> str:
    return name.rpartition(".")[0] if name.endswith(COMPRESSED) else name


def unpacked_length(file: File) -> int:
    """Return what a compressed file says of its content's length, 0 where it says nothing; a digest proves it.

    Of a remote file the beginning and the end do, one after the other.
    """
    try:
        with Path(file.path).open("rb") as raw:
            first = raw.read(ZSTD_HEADER)
            if first.startswith(GZIP):
                raw.seek(-GZIP_TRAILER, 2)
                return int.from_bytes(raw.read(GZIP_TRAILER), "little")
            return _zstd_length(first) if first.startswith(ZSTD) else 0
    except OSError:
        return 0


def _zstd_length(head: bytes) -> int:
    """Return the content's length out of a frame's header (RFC 8878, 3.1.1.1)."""
    if len(head) < ZSTD_HEADER:
        return 0
    flags = head[4]
    single, size = flags >> 5 & 1, flags >> 6
    start = 5 + (not single) + (0, 1, 2, 4)[flags & 3]
    width = (single, 2, 4, 8)[size]
    return int.from_bytes(head[start : start + width], "little") + (256 if size == 1 else 0)


def head(file: File) -> bytes:
    """Return the first block of the content; nothing where it cannot be read."""
    try:
        with closing(blocks(file.path)) as opened:
            block = next(opened, None)
    except (Unreadable, OSError):
        return b""
    return b"" if block is None else block.data[: block.end]


def digest(file: File) -> bytes:
    """Return what the content is known by; nothing where it cannot be read."""
    made = blake2b()
    try:
        with closing(blocks(file.path)) as opened:
            for block in opened:
                made.update(memoryview(block.data)[: block.end])
    except (Unreadable, OSError):
        return b""
    return made.digest()


def _copies(files: Sequence[File], *, known: bool) -> Iterator[Copy]:
    """Yield those of files with one content that are copies of others of them."""
    alike = [list(files)] if known else _groups((file, _without_marks(file.name)) for file in files)
    for group in alike:
        first, *others = sorted(group, key=_rank)
        yield from (Copy(other.name, first.name) for other in others)


def _rank(file: File) -> tuple[int, bool, int, str]:
    return file.name.count("/"), file.name.endswith(COMPRESSED), len(file.name), file.name


def _without_marks(name: str) -> str:
    """Return a name without what says that it is a copy's."""
    folder, _, base = _bare(name).rpartition("/")
    return f"{folder}/{COPY.sub('', base)}"


def has_its_own_times(file: File, zone: tzinfo) -> bool:
    """Whether a file holds times that no other can have alike."""
    beginning = head(file)
    form = recognise(beginning, zone=zone, latest=file.changed)
    if not isinstance(form, Format):
        return False
    if form.output is not None:
        return form.output.name in WITH_THEIR_OWN_TIMES
    if form.recognise_part is not None:  # a head says of each section when and of whom it was had
        return True
    try:
        times = {at for at in islice(_times(form, beginning), LINES_LOOKED_AT) if at is not None}
    except OSError:
        return False
    return len(times) >= TIMES_OF_ITS_OWN


def _times(form: Format, head: bytes) -> Iterator[int | None]:
    if form.records is not None:
        return (record.at for record in form.records([head]))
    return (form.time_at(line, 0, len(line)) for line in head.splitlines())
