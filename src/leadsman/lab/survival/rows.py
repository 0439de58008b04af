"""Plays a fault and judges each worker by what the topic holds."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.lab.survival.stage import TOPIC, WORKERS, stage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from leadsman.lab.clients import Worker
    from leadsman.lab.survival.faults import Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one worker came through with. `lost` records are not stored; `lost_acknowledged` were said to be."""

    fault: str
    client: str
    how: str
    sent: int
    acknowledged: int
    lost: int
    lost_acknowledged: int
    duplicated: int
    worst_seconds: float


def play(fault: Fault) -> list[Row]:
    """Play one fault with all six workers side by side."""
    with stage(fault.world) as running:
        fault.play(running)
        for worker in running.workers.values():
            worker.quit()
        stored = Counter(running.cluster.read_topic(TOPIC))
        return [_judge(fault, running.workers[name], stored) for name in WORKERS]


def _judge(fault: Fault, worker: Worker, stored: Counter[str]) -> Row:
    client, _, how = worker.name.rpartition("-")
    if not worker.told:
        raise LabError(f"{worker.name} told nothing of {fault.name}.")
    return Row(
        fault=fault.name,
        client=client,
        how=how,
        sent=len(worker.told),
        acknowledged=sum(told.acknowledged for told in worker.told),
        lost=sum(not stored[told.value] for told in worker.told),
        lost_acknowledged=sum(told.acknowledged and not stored[told.value] for told in worker.told),
        duplicated=sum(stored[told.value] > 1 for told in worker.told),
        worst_seconds=max(told.took.total_seconds() for told in worker.told if not told.first),
    )


def save(rows: Sequence[Row], path: Path) -> None:
    """Keep rows as JSON, after those that are there already; a fault that is played again replaces its rows."""
    kept = [row for row in load(path) if row.fault not in {new.fault for new in rows}]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(row) for row in (*kept, *rows)], indent=1), encoding="utf-8")


def load(path: Path) -> list[Row]:
    """Read them back."""
    return [Row(**row) for row in json.loads(path.read_text(encoding="utf-8"))] if path.exists() else []
