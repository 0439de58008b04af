"""What was read of a topic so far: sizes that plan the next trigger, and records that were set aside."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class TopicTotals:
    """The records that the last trigger read, and all that were set aside up to it.

    `last_record` is the time of the newest record (ms since 1970).
    """

    last_records: int = 0
    last_bytes: int = 0
    set_aside: int = 0
    last_record: int | None = None

    def after(self, records: int, size: int, set_aside: int, newest: int | None) -> TopicTotals:
        """Return the totals after another trigger. One that read nothing says nothing about sizes."""
        known = [at for at in (self.last_record, newest) if at is not None]
        totals = replace(self, set_aside=self.set_aside + set_aside, last_record=max(known, default=None))
        return replace(totals, last_records=records, last_bytes=size) if records else totals

    def write(self, folder: Path, topic: str) -> None:
        """Write the totals, whole or not at all."""
        folder.mkdir(parents=True, exist_ok=True)
        path = _path(folder, topic)
        part = path.with_name(f".{path.name}.{os.getpid()}")
        part.write_text(json.dumps({"topic": topic, **asdict(self)}), encoding="utf-8")
        part.replace(path)

    @staticmethod
    def read(folder: Path, topic: str) -> TopicTotals:
        """Return the totals; zeros before the first record."""
        try:
            fields = json.loads(_path(folder, topic).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return TopicTotals()
        fields.pop("topic", None)
        return TopicTotals(**fields)


def _path(folder: Path, topic: str) -> Path:
    return folder / f"topic-{blake2b(topic.encode(), digest_size=8).hexdigest()}.json"
