"""A day of services, written faster than it happens: logs that grow, are rotated and compressed, and failing clients.

Each service writes a line every two seconds of its day. Each hour the clients of one more cluster fail, as they were
recorded; a monitor of that cluster goes on to write a line a minute, until all logs of it are deleted hours later.
"""

from __future__ import annotations

import gzip
import os
import shutil
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from leadsman.lab.killing.failing_clients import recorded_failure

if TYPE_CHECKING:
    from pathlib import Path

TIME = "%Y-%m-%d %H:%M:%S"
HOURS = 24
MORE_HOURS = 2
"""Telemetry goes on behind the day for so long at most: without it nobody knows whether a failure is over."""

SERVICES = 8
LINE_EVERY = timedelta(seconds=2)
ROTATED_EVERY = timedelta(hours=3)
FAILS_AT_MINUTE = 20
"""Of each hour but the last: so every finding can be resolved within the day."""

ARCHIVES_KEPT = 2
CLIENTS_KEPT = 8
"""Clusters whose clients' logs are kept: as many hours, more than the retention of the watch."""


@dataclass(slots=True)
class ServiceDay:
    """What was written of a day that began at `begins`, up to the time `at`."""

    folder: Path
    begins: datetime
    at: datetime = field(init=False)
    failures: list[str] = field(default_factory=list)
    lines: int = 0
    _rotations: int = 0

    def __post_init__(self) -> None:
        self.at = self.begins

    @classmethod
    def ending_now(cls, folder: Path) -> ServiceDay:
        """Return the day before this moment: no line has a time that is still to come."""
        return cls(folder, datetime.now(UTC).replace(microsecond=0) - timedelta(hours=HOURS + MORE_HOURS))

    def write_until(self, at: datetime) -> None:
        """Write what happens until a time."""
        begun, self.at = self.at, min(max(at, self.at), self.begins + timedelta(hours=HOURS + MORE_HOURS))
        for number in range(SERVICES):
            self._write_service(f"service-{number}", begun)
        self._write_clients(begun)
        if (self.at - self.begins) // ROTATED_EVERY > self._rotations:
            self._rotations += 1
            for number in range(SERVICES):
                self._rotate(self.folder / f"service-{number}.log", by_rename=bool(number % 2))

    def _write_service(self, name: str, begun: datetime) -> None:
        first = -(-(begun - self.begins) // LINE_EVERY)
        last = -(-(self.at - self.begins) // LINE_EVERY)
        times = (self.begins + each * LINE_EVERY for each in range(first, last))
        lines = [f"{each:{TIME}}.000 INFO {name}: order {each:%H%M%S} handled in 12 ms\n" for each in times]
        self._append(self.folder / f"{name}.log", "".join(lines))

    def _write_clients(self, begun: datetime) -> None:
        first, last = (-(-(each - self.begins) // timedelta(minutes=1)) for each in (begun, self.at))
        for minute in range(first, last):
            at = self.begins + timedelta(minutes=minute)
            for cluster in self.failures[-CLIENTS_KEPT:]:
                self._append(
                    self.folder / cluster / "monitor.log", f"{at:{TIME}}.000 INFO monitor: all brokers answer\n"
                )
            if minute % 60 == FAILS_AT_MINUTE and minute < (HOURS - 1) * 60:
                if len(self.failures) >= CLIENTS_KEPT:
                    shutil.rmtree(self.folder / self.failures[-CLIENTS_KEPT])
                self.failures.append(f"soaking{len(self.failures):015d}")
                names_cluster = f"INFO monitor: [Producer clientId=monitor] Cluster ID: {self.failures[-1]}"
                self._append(self.folder / self.failures[-1] / "monitor.log", f"{at:{TIME}}.000 {names_cluster}\n")
                for name, text in recorded_failure(self.failures[-1], ends=at).items():
                    self._append(self.folder / self.failures[-1] / name, text.decode())

    def _rotate(self, log: Path, *, by_rename: bool) -> None:
        older = log.with_name(f"{log.name}.1")
        for number in range(ARCHIVES_KEPT, 0, -1):
            archive = log.with_name(f"{log.name}.{number}.gz")
            if archive.exists() and number == ARCHIVES_KEPT:
                archive.unlink()
            elif archive.exists():
                archive.rename(log.with_name(f"{log.name}.{number + 1}.gz"))
        if by_rename:
            log.rename(older)
        else:
            older.write_bytes(log.read_bytes())
            os.truncate(log, 0)
        older.with_name(f"{older.name}.gz").write_bytes(gzip.compress(older.read_bytes()))
        older.unlink()

    def _append(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
        self.lines += text.count("\n")
