"""Plays a fault, judges each worker by what the topic holds, and keeps what was measured."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Protocol

from leadsman.errors import LabError
from leadsman.lab.survival.stage import CLIENTS, TOPIC, WORKERS, stage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from leadsman.lab.clients import Worker
    from leadsman.lab.cluster import Plan
    from leadsman.lab.survival.stage import Stage, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one worker came through with. `lost` records are not stored; `lost_acknowledged` were said to be.

    Of a consumer: `acknowledged` are the records that it processed, and both kinds of lost those that it did not.
    """

    fault: str
    client: str
    how: str
    sent: int
    acknowledged: int
    lost: int
    lost_acknowledged: int
    duplicated: int
    worst_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One fault, played once, with all its workers."""

    fault: str
    says: str
    day: str
    cores: int
    versions: dict[str, str]
    """Of the clients, and of the broker."""
    rows: tuple[Row, ...]


class Playable(Protocol):
    """A fault, and how its workers come through it."""

    @property
    def name(self) -> str:
        """Its name on the command line."""

    @property
    def says(self) -> str:
        """Its name in the table."""

    @property
    def plan(self) -> Plan:
        """Its brokers."""

    def rows(self) -> tuple[Row, ...]:
        """Play it."""


def play(fault: Playable) -> Played:
    """Play one fault."""
    rows = fault.rows()
    return Played(
        fault=fault.name,
        says=fault.says,
        day=f"{datetime.now(UTC):%Y-%m-%d}",
        cores=os.cpu_count() or 1,
        versions={**{client: version(client) for client in CLIENTS}, "Kafka": fault.plan.kafka},
        rows=rows,
    )


def produced(fault: str, world: World, happens: Callable[[Stage], None]) -> tuple[Row, ...]:
    """Let a fault happen to six producers side by side, and judge each by what the topic holds."""
    with stage(world) as running:
        happens(running)
        for worker in running.workers.values():
            worker.quit()
        stored = Counter(running.cluster.read_topic(TOPIC))
        return tuple(_judge(fault, running.workers[name], stored) for name in WORKERS)


def _judge(fault: str, worker: Worker, stored: Counter[str]) -> Row:
    client, _, how = worker.name.rpartition("-")
    if not worker.told:
        raise LabError(f"{worker.name} told nothing of {fault}.")
    return Row(
        fault=fault,
        client=client,
        how=how,
        sent=len(worker.told),
        acknowledged=sum(told.acknowledged for told in worker.told),
        lost=sum(not stored[told.value] for told in worker.told),
        lost_acknowledged=sum(told.acknowledged and not stored[told.value] for told in worker.told),
        duplicated=sum(stored[told.value] > 1 for told in worker.told),
        worst_seconds=max(told.took.total_seconds() for told in worker.told if not told.first),
    )


def save(played: Played, path: Path, *, order: Sequence[str]) -> None:
    """Keep it as JSON, in place of what the file says of that fault so far."""
    kept = {each.fault: each for each in (*load(path), played)}
    ordered = [asdict(kept[fault]) for fault in order if fault in kept]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def load(path: Path) -> list[Played]:
    """Read them back."""
    if not path.exists():
        return []
    told = json.loads(path.read_text(encoding="utf-8"))
    return [Played(**{**each, "rows": tuple(Row(**row) for row in each["rows"])}) for each in told]
