"""Runs a fault, measures each worker by the records that the topic holds, and saves the figures."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Protocol

from leadsman.errors import LabError
from leadsman.lab.survival.environment import CLIENTS, TOPIC, WORKERS, running_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from leadsman.lab.brokers.cluster import ClusterPlan
    from leadsman.lab.run.run_context import RunContext
    from leadsman.lab.survival.environment import FaultEnvironment
    from leadsman.lab.workload.worker import Worker


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerResult:
    """The result of one worker. `lost` records are not stored; `lost_acknowledged` were acknowledged nevertheless.

    Of a consumer: `acknowledged` are the records that it processed, and both kinds of lost are those that it did not.
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
class FaultResult:
    """One fault, run once, with all its workers."""

    fault: str
    description: str
    day: str
    cores: int
    versions: dict[str, str]
    """Of the clients, and of the broker."""
    rows: tuple[WorkerResult, ...]


class RunnableFault(Protocol):
    """A fault that can be run."""

    @property
    def name(self) -> str:
        """Its name on the command line."""

    @property
    def description(self) -> str:
        """Its name in the table."""

    @property
    def plan(self) -> ClusterPlan:
        """Its brokers."""

    def rows(self) -> tuple[WorkerResult, ...]:
        """Run it."""


def run_fault(fault: RunnableFault) -> FaultResult:
    """Run one fault."""
    rows = fault.rows()
    return FaultResult(
        fault=fault.name,
        description=fault.description,
        day=f"{datetime.now(UTC):%Y-%m-%d}",
        cores=os.cpu_count() or 1,
        versions={**{client: version(client) for client in CLIENTS}, "Kafka": fault.plan.kafka},
        rows=rows,
    )


def run_producers(
    fault: str, environment: FaultEnvironment, inject: Callable[[RunContext], None]
) -> tuple[WorkerResult, ...]:
    """Inject a fault into six producers side by side, and measure each by the records that the topic holds."""
    with running_environment(environment) as context:
        inject(context)
        for worker in context.workers.values():
            worker.quit()
        stored = Counter(context.cluster.read_topic(TOPIC))
        return tuple(_result(fault, context.workers[name], stored) for name in WORKERS)


def _result(fault: str, worker: Worker, stored: Counter[str]) -> WorkerResult:
    client, _, how = worker.name.rpartition("-")
    reports = worker.delivery_reports
    if not reports:
        raise LabError(f"{worker.name} reported no record of {fault}.")
    return WorkerResult(
        fault=fault,
        client=client,
        how=how,
        sent=len(reports),
        acknowledged=sum(report.acknowledged for report in reports),
        lost=sum(not stored[report.value] for report in reports),
        lost_acknowledged=sum(report.acknowledged and not stored[report.value] for report in reports),
        duplicated=sum(stored[report.value] > 1 for report in reports),
        worst_seconds=max(report.latency.total_seconds() for report in reports if not report.is_warm_up),
    )


def save(result: FaultResult, path: Path, *, order: Sequence[str]) -> None:
    """Save it as JSON, in place of that fault's earlier figures."""
    by_fault = {each.fault: each for each in (*load(path), result)}
    ordered = [asdict(by_fault[fault]) for fault in order if fault in by_fault]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def load(path: Path) -> list[FaultResult]:
    """Read them back."""
    if not path.exists():
        return []
    return [_from_json(each) for each in json.loads(path.read_text(encoding="utf-8"))]


def _from_json(saved: Mapping[str, Any]) -> FaultResult:
    return FaultResult(**{**saved, "rows": tuple(WorkerResult(**row) for row in saved["rows"])})
