"""Kafka's snapshots of producer state, `00000000000000004002.snapshot`: one entry per producer id, read as columns.

The format has been version 1 in every release from 0.11 to 4.4: a version, a CRC-32C of all that follows, a count,
then entries of 46 bytes, all big-endian. An entry holds only the last batch of its producer id.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEADER = struct.Struct(">hIi")
CHECKSUM_START = 6
"""Offset from which the checksum is computed: it covers everything behind itself."""

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
MAX_ENTRIES = 1 << 26
"""Entries. More would be a file of 3 GB: a file that claims so is no snapshot."""


class InvalidSnapshot(ValueError):
    """The bytes are no complete snapshot. The message says why."""


def is_snapshot(head: bytes, size: int | None = None) -> bool:
    """Whether a file that begins so is a snapshot: the count of entries decides the size. `size` is the file's."""
    if len(head) < HEADER.size:
        return False
    version, _, count = HEADER.unpack_from(head)
    if version != VERSION or not 0 <= count <= MAX_ENTRIES:
        return False
    expected = HEADER.size + count * ENTRY.itemsize
    return expected == size if size is not None else expected >= len(head) and _plausible(head, count)


def _plausible(head: bytes, count: int) -> bool:
    """Whether the first entries hold plausible values: the only check where the size of the file is unknown."""
    available = min(count, (len(head) - HEADER.size) // ENTRY.itemsize)
    entries = np.frombuffer(head, ENTRY, available, HEADER.size)
    return bool(np.all((entries["producer_id"] >= 0) & (entries["epoch"] >= -1) & (entries["last_sequence"] >= -1)))


def read_entries(data: bytes) -> NDArray[Any]:
    """Return the entries. Raises InvalidSnapshot where they are cut short or were changed."""
    import google_crc32c

    if len(data) < HEADER.size:
        raise InvalidSnapshot(f"it is {len(data)} bytes long, shorter than a header")
    version, stored, count = HEADER.unpack_from(data)
    if version != VERSION:
        raise InvalidSnapshot(f"its version is {version}, and only {VERSION} is known")
    size = HEADER.size + count * ENTRY.itemsize
    if count < 0 or len(data) < size:
        raise InvalidSnapshot(f"it breaks off: {count} entries take {size} bytes, and there are {len(data)}")
    computed = google_crc32c.value(memoryview(data)[CHECKSUM_START:size].tobytes())
    if computed != stored:
        raise InvalidSnapshot(f"its checksum is wrong: stored {stored}, computed {computed}")
    return np.frombuffer(data, ENTRY, count, HEADER.size)
