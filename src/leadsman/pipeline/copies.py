"""Finds files that stand in a capture twice, so that each is read once: also where one of them is compressed.

Two files of the same content are the same telemetry only where the content could not come about twice. A log is known
by its times. What two hosts print can be the same to the byte, and so can a cluster's state at two moments: such files
are copies only where their names say so.
"""

from __future__ import annotations

import re
from collections import defaultdict
from contextlib import closing
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.pipeline.blocks import Unreadable, blocks
from leadsman.pipeline.streams import COMPRESSED, Copy, File
from leadsman.telemetry.format import Format
from leadsman.telemetry.recognise import recognise

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence
    from datetime import tzinfo

    from leadsman.pipeline.streams import Found

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"

ZSTD_HEADER = 18
"""Bytes, at most. A whole file has more."""

HEAD_BYTES = 4096
"""By these most files of one length are told apart, and need not be read to their ends."""

TIMES_OF_ITS_OWN = 10
"""Different times that no two writers have in common, in the same words. A line or two, to the second, may be."""

LINES_LOOKED_AT = 1000

WITH_THEIR_OWN_TIMES = frozenset({"prometheus_range", "heap_dump"})
"""Outputs that no two programs can have alike: series with names and times; a process's memory."""

COPY = re.compile(r"^copy[ _-]of[ _-]|[ _.-]*(?:\(\d\)|\(?copy\)?(?:[ _-]?\d)?|bak|orig|old)(?=\.|$)|~$", re.IGNORECASE)
"""`app (1).log`, `app - Copy.log`, `app.log.bak`, `copy-of-app.log`."""


def without_copies(found: Found, zone: tzinfo) -> Found:
    """Return what was found, each file once: of several copies the one with the shortest name."""
    files = [file for stream in found.streams for file in stream.files]
    copies = {copy.file: copy for group in _same(files) for copy in _copies(group, zone)}
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


def _same(files: Sequence[File]) -> Iterator[list[File]]:
    """Yield the groups of files that have the same content, to the byte."""
    for alike in _groups(_lengths(files)):
        for near in _groups((file, _head(file)[:HEAD_BYTES]) for file in alike):
            yield from _groups((file, _digest(file)) for file in near)


def _groups(keyed: Iterable[tuple[File, Hashable]]) -> Iterator[list[File]]:
    """Yield the files that have a key in common. An empty key is none."""
    by_key: dict[Hashable, list[File]] = defaultdict(list)
    for file, key in keyed:
        if key:
            by_key[key].append(file)
    return (files for files in by_key.values() if len(files) > 1)


def _lengths(files: Sequence[File]) -> Iterator[tuple[File, int]]:
    """Yield each file with the length of its content. bzip2 tells none: it may be that of the file with its name."""
    packed = [file for file in files if file.name.endswith(COMPRESSED)]
    lengths = {file.name: file.bytes for file in files}
    lengths |= {file.name: _unpacked_length(file) for file in packed}
    for file in packed:
        lengths[file.name] = lengths[file.name] or lengths.get(_bare(file.name), 0)
    return ((file, lengths[file.name]) for file in files)


def _bare(name: str) -> str:
    return name.rpartition(".")[0] if name.endswith(COMPRESSED) else name


def _unpacked_length(file: File) -> int:
    """Return what a compressed file says of its content's length, 0 where it says nothing; a digest proves it."""
    try:
        with Path(file.path).open("rb") as raw:
            head = raw.read(ZSTD_HEADER)
            if head.startswith(GZIP):
                raw.seek(-4, 2)
                return int.from_bytes(raw.read(4), "little")
            return _zstd_length(head) if head.startswith(ZSTD) else 0
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


def _head(file: File) -> bytes:
    """Return the first block of the content; nothing where it cannot be read."""
    try:
        with closing(blocks(file.path)) as opened:
            block = next(opened, None)
    except (Unreadable, OSError):
        return b""
    return b"" if block is None else block.data[: block.end]


def _digest(file: File) -> bytes:
    digest = blake2b()
    try:
        with closing(blocks(file.path)) as opened:
            for block in opened:
                digest.update(memoryview(block.data)[: block.end])
    except (Unreadable, OSError):
        return b""
    return digest.digest()


def _copies(files: Sequence[File], zone: tzinfo) -> Iterator[Copy]:
    """Yield those of files with one content that are copies of others of them."""
    known = _has_its_own_times(files[0], zone)
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


def _has_its_own_times(file: File, zone: tzinfo) -> bool:
    head = _head(file)
    form = recognise(head, zone=zone, latest=file.changed)
    if not isinstance(form, Format):
        return False
    if form.output is not None:
        return form.output.name in WITH_THEIR_OWN_TIMES
    if form.recognise_part is not None:  # a head says of each section when and of whom it was had
        return True
    try:
        times = {at for at in islice(_times(form, head), LINES_LOOKED_AT) if at is not None}
    except OSError:
        return False
    return len(times) >= TIMES_OF_ITS_OWN


def _times(form: Format, head: bytes) -> Iterator[int | None]:
    if form.records is not None:
        return (record.at for record in form.records([head]))
    return (form.time_at(line, 0, len(line)) for line in head.splitlines())
