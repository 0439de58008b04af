"""Which offset of each partition may be committed: the first that is not processed yet. No gaps are ever jumped."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Partition: TypeAlias = tuple[str, int]
"""Topic and number."""


@dataclass(slots=True)
class _Progress:
    under_way: set[int] = field(default_factory=set)
    next_unseen: int = 0
    committed: int | None = None

    @property
    def position(self) -> int:
        """The offset to commit: below it everything is processed."""
        return min(self.under_way, default=self.next_unseen)


@dataclass(slots=True)
class Offsets:
    """What is under way and what is done, for the partitions of one assignment. The caller holds a lock."""

    _progress: dict[Partition, _Progress] = field(default_factory=dict)

    def took(self, partition: Partition, offset: int) -> None:
        """Note a record that was received."""
        progress = self._progress.setdefault(partition, _Progress())
        progress.under_way.add(offset)
        progress.next_unseen = max(progress.next_unseen, offset + 1)

    def done(self, partition: Partition, offset: int) -> bool:
        """Note a record that was processed; False if its partition was taken away meanwhile."""
        progress = self._progress.get(partition)
        if progress is None or offset not in progress.under_way:
            return False
        progress.under_way.remove(offset)
        return True

    def holds(self, partition: Partition, offset: int) -> bool:
        """Whether a record is still ours to process."""
        progress = self._progress.get(partition)
        return progress is not None and offset in progress.under_way

    def to_commit(self) -> dict[Partition, int]:
        """Return positions that were not committed yet."""
        return {p: g.position for p, g in self._progress.items() if g.position and g.position != g.committed}

    def committed(self, positions: Mapping[Partition, int]) -> None:
        """Note what the coordinator has."""
        for partition, position in positions.items():
            if partition in self._progress:
                self._progress[partition].committed = position

    def forget(self, partitions: Iterable[Partition]) -> None:
        """Drop partitions that were taken away: their new owner goes on from the last commit."""
        for partition in partitions:
            self._progress.pop(partition, None)

    @property
    def under_way(self) -> int:
        """How many records are received and not processed."""
        return sum(len(progress.under_way) for progress in self._progress.values())
