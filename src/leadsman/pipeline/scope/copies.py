"""Finds duplicate files in a capture, so that each content is read once, also where one of the files is compressed.

Two files with the same content are duplicates only where that content cannot occur twice. A log is identified by its
times. The outputs of two hosts can be equal to the byte, and so can a cluster's state at two moments: such files are
duplicates only where their names mark one as a copy.
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

from leadsman.pipeline.read.blocks import DecompressionError, blocks
from leadsman.pipeline.scope.streams import COMPRESSED, DuplicateFile, File
from leadsman.telemetry.format import RecognisedFormat
from leadsman.telemetry.recognise import recognise

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
    from datetime import tzinfo

    from leadsman.pipeline.scope.streams import CaptureFiles

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"

ZSTD_HEADER = 18
"""Bytes of a frame header, at most. A complete file has more."""

GZIP_TRAILER = 4
"""Bytes at the end of the file, with the content's length."""

HEAD_BYTES = 4096
"""The first bytes distinguish most files of one length, which then need not be read to their ends."""

MIN_DISTINCT_TIMES = 10
"""Two writers do not log the same lines at so many distinct times. One or two lines, to the second, they may."""

LINES_CHECKED = 1000

UNIQUE_OUTPUTS = frozenset({"prometheus_range", "heap_dump"})
"""Outputs that no two programs write with the same content: series with names and times; a process's memory."""

COPY = re.compile(r"^copy[ _-]of[ _-]|[ _.-]*(?:\(\d\)|\(?copy\)?(?:[ _-]?\d)?|bak|orig|old)(?=\.|$)|~$", re.IGNORECASE)
"""`app (1).log`, `app - Copy.log`, `app.log.bak`, `copy-of-app.log`."""


class ContentMeasures(Protocol):
    """Measures the contents of many files at once: of local files in the driver, of remote files in tasks."""

    def lengths(self, files: Sequence[File]) -> Sequence[int]:
        """Return the lengths of contents that compressed files state, 0 where they state none."""

    def heads(self, files: Sequence[File]) -> Sequence[Hashable]:
        """Return a key of each content's beginning; an empty key where the content cannot be read."""

    def digests(self, files: Sequence[File]) -> Sequence[Hashable]:
        """Return a key of each content; an empty key where the content cannot be read."""

    def are_unique(self, files: Sequence[File]) -> Sequence[bool]:
        """Return whether the contents have times that no other file can have."""


@dataclass(frozen=True, slots=True)
class LocalFileMeasures:
    """Measures files of this machine."""

    zone: tzinfo

    def lengths(self, files: Sequence[File]) -> Sequence[int]:
        """Read a header or trailer of each file."""
        return [uncompressed_length(file) for file in files]

    def heads(self, files: Sequence[File]) -> Sequence[Hashable]:
        """Read the first block of each file."""
        return [first_block(file)[:HEAD_BYTES] for file in files]

    def digests(self, files: Sequence[File]) -> Sequence[Hashable]:
        """Read each file to its end."""
        return [digest(file) for file in files]

    def are_unique(self, files: Sequence[File]) -> Sequence[bool]:
        """Read the first block of each file."""
        return [has_unique_times(file, self.zone) for file in files]


def drop_duplicate_files(captures: Mapping[str, CaptureFiles], measures: ContentMeasures) -> dict[str, CaptureFiles]:
    """Return the files of each capture, each content once: of several duplicates the one with the shortest name."""
    groups = _same_content(captures, measures)
    unique = measures.are_unique([files[0] for _, files in groups])
    duplicates: dict[str, dict[str, DuplicateFile]] = {path: {} for path in captures}
    for (path, files), is_unique in zip(groups, unique, strict=True):
        duplicates[path] |= {each.file: each for each in _duplicates(files, is_unique=is_unique)}
    return {path: _without(each, duplicates[path]) for path, each in captures.items()}


def _without(files: CaptureFiles, duplicates: Mapping[str, DuplicateFile]) -> CaptureFiles:
    if not duplicates:
        return files
    streams = [
        replace(each, files=tuple(file for file in each.files if file.name not in duplicates)) for each in files.streams
    ]
    return replace(
        files,
        streams=tuple(stream for stream in streams if stream.files),
        copies=tuple(duplicates[name] for name in sorted(duplicates)),
    )


def _same_content(captures: Mapping[str, CaptureFiles], measures: ContentMeasures) -> list[tuple[str, list[File]]]:
    """Return the groups of files of one capture with equal content, to the byte."""
    files = [(path, file) for path, each in captures.items() for stream in each.streams for file in stream.files]
    groups = _group_by_key(files, _lengths(files, measures))
    for measure in (measures.heads, measures.digests):
        files = [(path, file) for path, members in groups for file in members]
        group_numbers = [number for number, (_, members) in enumerate(groups) for _ in members]
        keys = measure([file for _, file in files])
        groups = _group_by_key(files, [key and (number, key) for number, key in zip(group_numbers, keys, strict=True)])
    return groups


def _group_by_key(files: Sequence[tuple[str, File]], keys: Sequence[Hashable]) -> list[tuple[str, list[File]]]:
    """Return the groups of files of one capture with the same key. An empty key matches no other."""
    by_key: dict[Hashable, list[File]] = defaultdict(list)
    paths: dict[Hashable, str] = {}
    for (path, file), key in zip(files, keys, strict=True):
        if key:
            by_key[path, key].append(file)
            paths[path, key] = path
    return [(paths[key], members) for key, members in by_key.items() if len(members) > 1]


def _lengths(files: Sequence[tuple[str, File]], measures: ContentMeasures) -> list[int]:
    """Return the lengths of the contents. bzip2 states none: the uncompressed file of the same name may have it."""
    compressed = [(path, file) for path, file in files if file.name.endswith(COMPRESSED)]
    lengths = {(path, file.name): file.bytes for path, file in files}
    measured = measures.lengths([file for _, file in compressed])
    lengths |= {(path, file.name): length for (path, file), length in zip(compressed, measured, strict=True)}
    for path, file in compressed:
        lengths[path, file.name] = lengths[path, file.name] or lengths.get((path, _uncompressed_name(file.name)), 0)
    return [lengths[path, file.name] for path, file in files]


def _group_files(keyed: Iterable[tuple[File, Hashable]]) -> Iterator[list[File]]:
    by_key: dict[Hashable, list[File]] = defaultdict(list)
    for file, key in keyed:
        by_key[key].append(file)
    return (files for files in by_key.values() if len(files) > 1)


def _uncompressed_name(name: str) -> str:
    return name.rpartition(".")[0] if name.endswith(COMPRESSED) else name


def uncompressed_length(file: File) -> int:
    """Return the length that a compressed file states for its content, 0 where it states none. A digest verifies it.

    For a remote file, a local file that holds only its first and last bytes is enough.
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


def _zstd_length(header: bytes) -> int:
    """Return the content's length from a frame's header (RFC 8878, 3.1.1.1)."""
    if len(header) < ZSTD_HEADER:
        return 0
    flags = header[4]
    single, size = flags >> 5 & 1, flags >> 6
    start = 5 + (not single) + (0, 1, 2, 4)[flags & 3]
    width = (single, 2, 4, 8)[size]
    return int.from_bytes(header[start : start + width], "little") + (256 if size == 1 else 0)


def first_block(file: File) -> bytes:
    """Return the first block of the content; empty where it cannot be read."""
    try:
        with closing(blocks(file.path)) as content:
            block = next(content, None)
    except (DecompressionError, OSError):
        return b""
    return b"" if block is None else block.data[: block.end]


def digest(file: File) -> bytes:
    """Return the digest of the content; empty where it cannot be read."""
    hashed = blake2b()
    try:
        with closing(blocks(file.path)) as content:
            for block in content:
                hashed.update(memoryview(block.data)[: block.end])
    except (DecompressionError, OSError):
        return b""
    return hashed.digest()


def _duplicates(files: Sequence[File], *, is_unique: bool) -> Iterator[DuplicateFile]:
    """Yield the duplicates among files with equal content."""
    groups = [list(files)] if is_unique else _group_files((file, _without_copy_marks(file.name)) for file in files)
    for group in groups:
        first, *others = sorted(group, key=_sort_key)
        yield from (DuplicateFile(other.name, first.name) for other in others)


def _sort_key(file: File) -> tuple[int, bool, int, str]:
    return file.name.count("/"), file.name.endswith(COMPRESSED), len(file.name), file.name


def _without_copy_marks(name: str) -> str:
    """Return a name without the marks of a copy."""
    folder, _, base = _uncompressed_name(name).rpartition("/")
    return f"{folder}/{COPY.sub('', base)}"


def has_unique_times(file: File, zone: tzinfo) -> bool:
    """Whether a file holds times that no other file can have."""
    beginning = first_block(file)
    form = recognise(beginning, zone=zone, latest=file.changed)
    if not isinstance(form, RecognisedFormat):
        return False
    if form.output_source is not None:
        return form.output_source.name in UNIQUE_OUTPUTS
    if form.recognise_section is not None:  # each section's header names the time and the host
        return True
    try:
        times = {at for at in islice(_times(form, beginning), LINES_CHECKED) if at is not None}
    except OSError:
        return False
    return len(times) >= MIN_DISTINCT_TIMES


def _times(form: RecognisedFormat, beginning: bytes) -> Iterator[int | None]:
    if form.records is not None:
        return (record.at for record in form.records([beginning]))
    return (form.time_at(line, 0, len(line)) for line in beginning.splitlines())
