"""Which offset of each partition may be committed: the first that is not processed yet. A commit never skips a gap."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Partition: TypeAlias = tuple[str, int]
"""Topic and number."""


@dataclass(slots=True)
class _PartitionProgress:
    in_flight: set[int] = field(default_factory=set)
    next_offset: int = 0
    committed: int | None = None

    @property
    def position(self) -> int:
        """The offset to commit: everything below it is processed."""
        return min(self.in_flight, default=self.next_offset)


@dataclass(slots=True)
class OffsetTracker:
    """Records in flight and processed, for the partitions of one assignment. The caller holds a lock."""

    _progress: dict[Partition, _PartitionProgress] = field(default_factory=dict)

    def mark_received(self, partition: Partition, offset: int) -> None:
        """Note a record that was received."""
        progress = self._progress.setdefault(partition, _PartitionProgress())
        progress.in_flight.add(offset)
        progress.next_offset = max(progress.next_offset, offset + 1)

    def mark_processed(self, partition: Partition, offset: int) -> bool:
        """Note a record that was processed; False if its partition was revoked meanwhile."""
        progress = self._progress.get(partition)
        if progress is None or offset not in progress.in_flight:
            return False
        progress.in_flight.remove(offset)
        return True

    def is_in_flight(self, partition: Partition, offset: int) -> bool:
        """Whether a record is received, not processed, and its partition still assigned."""
        progress = self._progress.get(partition)
        return progress is not None and offset in progress.in_flight

    def uncommitted(self) -> dict[Partition, int]:
        """Return the positions that are not committed yet."""
        return {p: g.position for p, g in self._progress.items() if g.position and g.position != g.committed}

    def mark_committed(self, positions: Mapping[Partition, int]) -> None:
        """Note the positions that the coordinator acknowledged."""
        for partition, position in positions.items():
            if partition in self._progress:
                self._progress[partition].committed = position

    def remove(self, partitions: Iterable[Partition]) -> None:
        """Remove partitions that were revoked or lost: their new owner continues from the last commit."""
        for partition in partitions:
            self._progress.pop(partition, None)

    @property
    def in_flight(self) -> int:
        """How many records are received and not processed."""
        return sum(len(progress.in_flight) for progress in self._progress.values())
