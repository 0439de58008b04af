"""What sources report while they are watched, and how far behind they are: files below the state folder.

Readers run in processes of their own. They append lines to one file, and replace another; the command prints the first
and everybody may read the second.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SCHEMA = "leadsman.kafka_lag/1"


class SourceMessage(NamedTuple):
    """What a source reported, and when."""

    at: datetime
    text: str


@dataclass(slots=True)
class SourceMessages:
    """The lines that sources reported. `new` returns those since the last call."""

    folder: Path
    _read: int = field(default=-1)

    def report(self, text: str) -> None:
        """Append a line. Lines of several processes do not mix: each is one write."""
        self.folder.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"at": datetime.now(UTC).isoformat(timespec="milliseconds"), "text": text}) + "\n"
        with self._path.open("ab", buffering=0) as file:
            file.write(line.encode())

    def skip(self) -> None:
        """Leave out what earlier runs reported."""
        self._read = self._path.stat().st_size if self._path.exists() else 0

    def new(self) -> list[SourceMessage]:
        """Return what was reported since the last call."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(max(0, self._read))
            data = file.read()
        end = data.rfind(b"\n") + 1
        self._read = max(0, self._read) + end
        found = map(json.loads, data[:end].splitlines())
        return [SourceMessage(datetime.fromisoformat(each["at"]), each["text"]) for each in found]

    @property
    def _path(self) -> Path:
        return self.folder / "messages.jsonl"


def write_lag(folder: Path, document: Mapping[str, Any]) -> None:
    """Write how far behind the topics are, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f".kafka.{os.getpid()}"
    part.write_text(json.dumps({"schema": SCHEMA, **document}), encoding="utf-8")
    part.replace(folder / "kafka.json")


def read_lag(folder: Path) -> dict[str, Any]:
    """Return how far behind the topics are, as `write_lag` wrote it last; empty before the first time."""
    try:
        document: dict[str, Any] = json.loads((folder / "kafka.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return document
