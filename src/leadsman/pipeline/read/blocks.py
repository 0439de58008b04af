"""A file as blocks of whole lines, raw bytes, decompressed where it has to be."""

from __future__ import annotations

import bz2
import gzip
import os
from functools import cache
from io import FileIO
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pyarrow as pa

from leadsman.pipeline.read.salvage import BZIPPED, COMPRESSIONS, GZIPPED, Compression, DamagedError, salvaged

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator
    from pathlib import Path

BLOCK_BYTES = 1 << 18
"""Large enough that the work per block vanishes, small enough to stay in a core's own cache, 512 KiB or more."""

LONGEST_LINE_BYTES = 4 << 20
"""A longer line is handed out in pieces: nobody's log line is this long, and memory must not follow it."""

EXPANSION_LIMIT = 400
"""Logs shrink 10 to 100 times; a file that grows more than this is made to fill disks."""

EXPANSION_FREE_BYTES = 64 << 20
"""Below this size nobody is harmed, however well a file was compressed: reading so many error lines takes 10 s."""


class DecompressionError(Exception):
    """The rest of a compressed file cannot be read. What came before it has been handed out."""


class Block(NamedTuple):
    """`data[:end]` are whole lines, but for the last block of a file and for pieces of an overlong line."""

    data: bytes
    end: int


def blocks(path: str | Path, begin: int = 0, end: int | None = None) -> Generator[Block]:
    """Yield the file's blocks. OSError where it cannot be opened, DecompressionError where its data are damaged.

    Of a file that is not compressed, only those from `begin` to `end`: offsets at which blocks begin (`block_begin`).
    """
    _keep_freed_memory()
    with FileIO(path) as raw:
        if (compression := _compression(raw)) is None:
            yield from _plain(raw.fileno(), begin, end)
        else:
            yield from _streamed(_bounded(_pieces(raw, compression), os.fstat(raw.fileno()).st_size))


@cache
def _keep_freed_memory() -> None:
    """Free one large piece: glibc then keeps smaller ones for reuse instead of giving each back to the kernel.

    Otherwise every block is mapped, faulted in page by page and unmapped again, 0.3 s a gigabyte.
    """
    bytes(64 * BLOCK_BYTES)


def _compression(raw: FileIO) -> Compression | None:
    """Return how a file is compressed, by its first bytes and never by its name; None where it is plain."""
    head = os.pread(raw.fileno(), 4, 0)
    return next((each for each in COMPRESSIONS if head.startswith(each.magic)), None)


def _reader(raw: FileIO, compression: Compression) -> Any:  # noqa: ANN401 - four libraries' readers, alike but for their types
    if compression is GZIPPED:
        return _gzip(raw)
    return bz2.BZ2File(raw) if compression is BZIPPED else pa.CompressedInputStream(cast("Any", raw), "zstd")


def _gzip(raw: FileIO) -> Any:  # noqa: ANN401 - as above
    try:
        from isal import igzip  # twice as fast, but not on every machine
    except ImportError:
        return gzip.GzipFile(fileobj=raw)
    return cast("Any", igzip).GzipFile(fileobj=raw)


def is_plain(path: str | Path) -> bool:
    """Whether a file is not compressed: then a block can be read without those before it."""
    with FileIO(path) as raw:
        return _compression(raw) is None


def block_begin(descriptor: int, boundary: int) -> int | None:
    """Return where the block begins that holds the byte at `boundary`, a multiple of BLOCK_BYTES.

    None where a line is so long that the file must be read from further above to know.
    """
    since = max(0, boundary - BLOCK_BYTES)
    newline = os.pread(descriptor, boundary - since, since).rfind(b"\n")
    return None if newline < 0 else since + newline + 1


def _plain(descriptor: int, offset: int, until: int | None) -> Iterator[Block]:
    """Read from line to line, so that no byte is copied twice.

    A block ends at the last newline before the next multiple of BLOCK_BYTES; without a newline there, the following
    multiple counts. So block borders depend on nearby lines only: a file has the same blocks wherever reading begins.
    """
    size = _to_boundary(offset) + BLOCK_BYTES  # up to the boundary there is no end of a line
    while (until is None or offset < until) and (data := os.pread(descriptor, size, offset)):
        newline = data.find(b"\n")
        if newline < 0 and len(data) == size and size < LONGEST_LINE_BYTES:
            size += size // BLOCK_BYTES * BLOCK_BYTES
            continue
        after = newline + 1
        end = data.rfind(b"\n", 0, after + _to_boundary(offset + after)) + 1 or len(data)
        yield Block(data, end)
        offset += end
        size = _to_boundary(offset) + BLOCK_BYTES


def _to_boundary(offset: int) -> int:
    return -offset % BLOCK_BYTES


def _streamed(pieces: Iterable[bytes]) -> Iterator[Block]:
    """Yield all that was decompressed as blocks, then say why that is not all, where it is not."""
    carry, damage = b"", None
    try:
        for piece in pieces:
            data = carry + piece
            end = data.rfind(b"\n") + 1
            if end == 0 and len(data) < LONGEST_LINE_BYTES:
                carry = data
                continue
            end = end or len(data)
            yield Block(data, end)
            carry = data[end:]
    except DecompressionError as error:
        damage = error
    if carry:
        yield Block(carry, len(carry))
    if damage:
        raise damage


def _bounded(pieces: Iterable[bytes], compressed_bytes: int) -> Iterator[bytes]:
    limit = max(EXPANSION_FREE_BYTES, EXPANSION_LIMIT * compressed_bytes)
    total = 0
    for piece in pieces:
        yield piece
        total += len(piece)
        if total > limit:
            raise DecompressionError(f"expands more than {EXPANSION_LIMIT} times; stopped after {total >> 20} MiB")


def _pieces(raw: FileIO, compression: Compression) -> Iterator[bytes]:
    """Yield what can be decompressed, then say why no more can be, if there is more."""
    total = 0
    source = _reader(raw, compression)
    read = getattr(source, "read1", source.read)  # what there is so far: a damaged file is read up to its damage
    try:
        while piece := read(BLOCK_BYTES):
            total += len(piece)
            yield bytes(piece)
    except Exception:  # noqa: BLE001 - each of four libraries has errors of its own for damaged data
        yield from _rest(raw, compression, total)


def _rest(raw: FileIO, compression: Compression, begin: int) -> Iterator[bytes]:
    """Yield what can be decompressed behind the first bytes of a damaged file, then say what is wrong with it."""
    total = 0
    try:
        for piece in salvaged(raw, compression):
            if rest := piece[max(0, begin - total) :]:
                yield rest
            total += len(piece)
    except DamagedError as error:
        raise DecompressionError(f"{error} (read up to byte {max(total, begin):,} of its content)") from error
