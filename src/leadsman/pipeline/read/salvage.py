"""Decompresses files that are damaged: cut off, with a wrong checksum, or with other bytes behind their end.

The libraries' readers raise an error instead of the last pieces that they could decompress, of a small file all of it.
Here the compressed bytes come in small pieces, and before an error all that was decompressed.
"""

from __future__ import annotations

import bz2
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import FileIO

CHUNK_BYTES = 1 << 10
"""Compressed bytes that are decompressed at a time: of zstd up to 32 MB, of the others a megabyte."""

GZIP = 16 + zlib.MAX_WBITS


class DamagedError(Exception):
    """The rest of a file cannot be decompressed, for a reason in words."""


@dataclass(frozen=True, slots=True)
class Compression:
    """A format by its first bytes. `start` returns a decompressor of one member (gzip), stream (bzip2) or frame (zstd).

    `has_copies`: a decompressor can be copied, so that the bytes of a failing piece can be tried one by one.
    """

    magic: bytes
    start: Callable[[], Any]
    has_copies: bool = False


def _zstandard() -> Any:  # noqa: ANN401 - one of three libraries' objects, alike but for their types
    import zstandard  # 24 MB, for damaged files alone

    return zstandard.ZstdDecompressor().decompressobj()


GZIPPED = Compression(b"\x1f\x8b", lambda: zlib.decompressobj(GZIP), has_copies=True)
BZIPPED = Compression(b"BZh", bz2.BZ2Decompressor)
ZSTANDARD = Compression(b"\x28\xb5\x2f\xfd", _zstandard)
COMPRESSIONS = (GZIPPED, BZIPPED, ZSTANDARD)


def salvaged(raw: FileIO, compression: Compression) -> Iterator[bytes]:
    """Yield all that can be decompressed, from the beginning of the file. DamagedError where there is more."""
    raw.seek(0)
    member, pending = compression.start(), b""
    while chunk := pending or raw.read(CHUNK_BYTES):
        pending = b""
        yield from _decompressed(member, chunk, compression)
        if not member.eof:
            continue
        pending = _behind(member.unused_data, raw)
        if not pending:
            return
        if not pending.startswith(compression.magic):
            raise DamagedError("other bytes follow the end of the compressed data")
        member = compression.start()
    raise DamagedError("compressed data break off: the file was cut")


def _decompressed(member: Any, chunk: bytes, compression: Compression) -> Iterator[bytes]:  # noqa: ANN401 - three libraries' objects, alike but for their types
    before = member.copy() if compression.has_copies else None
    try:
        yield member.decompress(chunk)
    except Exception as error:  # noqa: BLE001 - each library has errors of its own
        if before is None:
            _raise(error)
    else:
        return
    for number in range(len(chunk)):
        try:
            yield before.decompress(chunk[number : number + 1])
        except Exception as error:  # noqa: BLE001 - as above
            _raise(error)


def _raise(error: Exception) -> NoReturn:
    if "incorrect data check" in str(error) or "incorrect length check" in str(error):
        raise DamagedError("the checksum of the compressed data is wrong") from error
    raise DamagedError(f"compressed data are damaged: {error}") from error


def _behind(rest: bytes, raw: FileIO) -> bytes:
    """Return what follows the end of a member, without the zeros with which tapes and block devices fill up."""
    while not (rest := rest.lstrip(b"\0")):
        if not (rest := raw.read(CHUNK_BYTES)):
            return b""
    return rest if len(rest) >= len(ZSTANDARD.magic) else rest + raw.read(CHUNK_BYTES)
