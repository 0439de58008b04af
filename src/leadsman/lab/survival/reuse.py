"""A day of a serverless fleet, compressed: workers that are reused after random gaps around their path's idle limit.

python -m leadsman.lab.survival.reuse            three quarters of an hour
python -m leadsman.lab.survival.reuse --only plain

Each kind of worker has a broker of its own; in the end the producer ids on that broker's heap are counted.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from leadsman.lab import faults
from leadsman.lab.brokers.cluster import ADDRESS, Cluster, ClusterPlan
from leadsman.lab.network.forwarder import Forwarder, PathBehaviour
from leadsman.lab.oracles.producer_ids import count_producer_ids
from leadsman.lab.survival.table import replace_between
from leadsman_clients import Hop, kafka_producer_provider

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LIMIT_SECONDS = 3.0
STANDS_FOR_SECONDS = 350.0
"""The idle limit of a NAT gateway of AWS."""

WORKERS = 40
INVOCATIONS = 10_000
"""250 for each worker, on average one limit apart: 24 hours."""

DEADLINE = timedelta(seconds=3)
TOPIC = "orders"
DOCS = Path("docs")
MARKS = ("<!-- written by python -m leadsman.lab.survival.reuse; do not edit -->", "<!-- until here, of the reuse -->")


class SendRecord(Protocol):
    """What a worker does in an invocation; it raises the client's errors."""

    def __call__(self, value: str) -> object:
        """Store one record."""


@dataclass(frozen=True, slots=True)
class WorkerKind:
    """One kind of worker."""

    name: str
    description: str
    wrapped: bool
    idempotent: bool

    def worker(self, bootstrap: str) -> SendRecord:
        """Return the function with which a new worker stores a record."""
        config = {"bootstrap.servers": bootstrap, "enable.idempotence": self.idempotent, "log_level": 0}
        return _wrapped_sender(config) if self.wrapped else _plain_sender(config)


WORKER_KINDS = (
    WorkerKind("plain", "plain, idempotent", wrapped=False, idempotent=True),
    WorkerKind("wrapped", "wrapped, idempotent", wrapped=True, idempotent=True),
    WorkerKind("wrapped_light", "wrapped, `enable.idempotence` off", wrapped=True, idempotent=False),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DayResult:
    """The figures of one worker kind's day."""

    variant: str
    description: str
    day: str
    invocations: int
    errors: int
    lost_acknowledged: int
    duplicated: int
    worst_seconds: float
    producer_ids: int


def _plain_sender(config: dict[str, Any]) -> SendRecord:
    """One producer for the life of the worker; a record may take as long as the invocation."""
    from confluent_kafka import Producer

    producer: Any = Producer({**config, "message.timeout.ms": int(DEADLINE.total_seconds() * 900)})

    def send(value: str) -> None:
        errors: list[Any] = []
        producer.produce(TOPIC, value.encode(), on_delivery=lambda error, _: errors.append(error))
        producer.flush(DEADLINE.total_seconds())
        if errors != [None]:
            raise TimeoutError(str(errors))

    return send


def _wrapped_sender(config: dict[str, Any]) -> SendRecord:
    hop = Hop("path", timedelta(seconds=LIMIT_SECONDS), freezes=True)
    producers = kafka_producer_provider(config, path=hop, timeout=DEADLINE)
    return lambda value: producers.deliver(TOPIC, value, timeout=DEADLINE)


def run_day(kind: WorkerKind, invocations: int) -> DayResult:
    """Run all workers through their day."""
    limit = timedelta(seconds=LIMIT_SECONDS)
    with Forwarder(idle_timeout=limit) as forwarder, Cluster(ClusterPlan(proxy_ports={1: forwarder.port})) as cluster:
        forwarder.target = (ADDRESS, cluster.brokers[0].ports["PROXY"])
        cluster.create_topic(TOPIC)
        bootstrap = f"{ADDRESS}:{forwarder.port}"
        with faults.path(forwarder, PathBehaviour.SILENT), ThreadPoolExecutor(WORKERS) as pool:
            each = invocations // WORKERS
            futures = [pool.submit(_run_worker, kind.worker(bootstrap), f"{n}", each) for n in range(WORKERS)]
            invoked = [invocation for future in futures for invocation in future.result()]
        return _day(kind, invoked, Counter(cluster.read_topic(TOPIC)), count_producer_ids(cluster.brokers[0]))


@dataclass(frozen=True, slots=True)
class InvocationResult:
    """The outcome of one invocation."""

    value: str
    stored: bool
    seconds: float


def _run_worker(send: SendRecord, name: str, invocations: int) -> list[InvocationResult]:
    gaps = random.Random(name)  # noqa: S311 - a repeatable day, no secret
    invoked = []
    for number in range(invocations):
        threading.Event().wait(gaps.uniform(0.5, 1.5) * LIMIT_SECONDS)
        invoked.append(_invoke(send, f"{name}:{number}"))
    return invoked


def _invoke(send: SendRecord, value: str) -> InvocationResult:
    began = time.monotonic()
    try:
        send(value)
    except Exception:  # noqa: BLE001 - any error of a client is the outcome
        return InvocationResult(value, stored=False, seconds=time.monotonic() - began)
    return InvocationResult(value, stored=True, seconds=time.monotonic() - began)


def _day(kind: WorkerKind, invoked: Sequence[InvocationResult], stored: Counter[str], ids: int) -> DayResult:
    return DayResult(
        variant=kind.name,
        description=kind.description,
        day=f"{datetime.now(UTC):%Y-%m-%d}",
        invocations=len(invoked),
        errors=sum(not each.stored for each in invoked),
        lost_acknowledged=sum(each.stored and not stored[each.value] for each in invoked),
        duplicated=sum(count > 1 for count in stored.values()),
        worst_seconds=max(each.seconds for each in invoked),
        producer_ids=ids,
    )


def text(days: Sequence[DayResult]) -> str:
    """Return the table."""
    return "\n".join(_lines(days))


def _lines(days: Sequence[DayResult]) -> Iterator[str]:
    dates = " and ".join(sorted({day.day for day in days}))
    yield (
        f"{WORKERS} workers of confluent-kafka, each reused after random gaps of 0.5 to 1.5 idle limits, on a path "
        f"that forgets in silence; {LIMIT_SECONDS:g} s stands for {STANDS_FOR_SECONDS:g} s. {os.cpu_count()} cores, "
        f"{dates}.\n"
    )
    yield "| worker | invocations | errors | acknowledged and lost | twice | longest | producer ids at the broker |"
    yield "|---|---|---|---|---|---|---|"
    for day in days:
        yield (
            f"| {day.description} | {day.invocations:,} | {day.errors:,} | {day.lost_acknowledged} | {day.duplicated} "
            f"| {day.worst_seconds:.2f} s | {day.producer_ids:,} |"
        )


def load(path: Path) -> list[DayResult]:
    """Return the saved figures."""
    return [DayResult(**day) for day in json.loads(path.read_text(encoding="utf-8"))] if path.exists() else []


def save(day: DayResult, path: Path) -> None:
    """Save it, in place of that kind's earlier figures."""
    by_kind = {each.variant: each for each in (*load(path), day)}
    ordered = [asdict(by_kind[kind.name]) for kind in WORKER_KINDS if kind.name in by_kind]
    path.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Run the worker kinds one after the other, and write the table."""
    names = [kind.name for kind in WORKER_KINDS]
    parser = argparse.ArgumentParser(prog="python -m leadsman.lab.survival.reuse", description="A day of reuse.")
    parser.add_argument("--only", nargs="*", choices=names, default=names, metavar="VARIANT", help=", ".join(names))
    parser.add_argument("--invocations", type=int, default=INVOCATIONS)
    parser.add_argument("--results", type=Path, default=DOCS / "reuse.json", help="where figures are kept")
    parser.add_argument("--page", type=Path, default=DOCS / "clients.md", help="where the table stands")
    arguments = parser.parse_args()
    for kind in WORKER_KINDS:
        if kind.name in arguments.only:
            save(run_day(kind, arguments.invocations), arguments.results)
    days = load(arguments.results)
    arguments.page.write_text(
        replace_between(arguments.page.read_text(encoding="utf-8"), MARKS, text(days)), encoding="utf-8"
    )
    sys.exit(any(day.errors or day.lost_acknowledged for day in days if day.variant != "plain"))


if __name__ == "__main__":
    main()
