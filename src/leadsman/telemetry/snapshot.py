"""Kafka's snapshots of producer state, `00000000000000004002.snapshot`: one entry a producer id, read as columns.

Their format has been version 1 in every release from 0.11 to 4.4: a version, a CRC-32C of all that follows, a count,
then entries of 46 bytes, all big-endian. Of each id only the last batch is kept.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEADER = struct.Struct(">hIi")
CHECKED_FROM = 6
"""The checksum is of everything behind itself."""

ENTRY = np.dtype(
    [
        ("producer_id", ">i8"),
        ("epoch", ">i2"),
        ("last_sequence", ">i4"),
        ("last_offset", ">i8"),
        ("offset_delta", ">i4"),
        ("timestamp", ">i8"),
        ("coordinator_epoch", ">i4"),
        ("current_transaction", ">i8"),
    ]
)
VERSION = 1
MOST = 1 << 26
"""Entries. More would be a file of 3 GB: what claims so is no snapshot."""


class NotASnapshot(ValueError):
    """The bytes are no whole snapshot. The message says why."""


def begins_one(head: bytes, size: int | None = None) -> bool:
    """Whether a file that begins so is a snapshot: the count in it says how long it is. `size` is the file's."""
    if len(head) < HEADER.size:
        return False
    version, _, count = HEADER.unpack_from(head)
    if version != VERSION or not 0 <= count <= MOST:
        return False
    whole = HEADER.size + count * ENTRY.itemsize
    return whole == size if size is not None else whole >= len(head) and _plausible(head, count)


def _plausible(head: bytes, count: int) -> bool:
    """Whether the entries that are there could be ones: an unknown size leaves only what they say."""
    there = min(count, (len(head) - HEADER.size) // ENTRY.itemsize)
    entries = np.frombuffer(head, ENTRY, there, HEADER.size)
    return bool(np.all((entries["producer_id"] >= 0) & (entries["epoch"] >= -1) & (entries["last_sequence"] >= -1)))


def entries_of(data: bytes) -> NDArray[Any]:
    """Return the entries. Raises NotASnapshot where they are cut short or were changed."""
    import google_crc32c  # noqa: PLC0415 - only who reads snapshots needs it

    if len(data) < HEADER.size:
        raise NotASnapshot(f"it is {len(data)} bytes long, shorter than a header")
    version, stored, count = HEADER.unpack_from(data)
    if version != VERSION:
        raise NotASnapshot(f"its version is {version}, and only {VERSION} is known")
    whole = HEADER.size + count * ENTRY.itemsize
    if count < 0 or len(data) < whole:
        raise NotASnapshot(f"it breaks off: {count} entries take {whole} bytes, and there are {len(data)}")
    computed = google_crc32c.value(memoryview(data)[CHECKED_FROM:whole].tobytes())
    if computed != stored:
        raise NotASnapshot(f"its checksum is wrong: stored {stored}, computed {computed}")
    return np.frombuffer(data, ENTRY, count, HEADER.size)
