"""A day of a serverless fleet, compressed: workers that are reused after random gaps around their path's idle limit.

python -m leadsman.lab.survival.reuse            three quarters of an hour
python -m leadsman.lab.survival.reuse --only plain

Each variant has a broker of its own, and the broker itself is asked how many producer ids it keeps in the end.
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

from leadsman.clients import Hop, kafka_producer_provider
from leadsman.lab import faults
from leadsman.lab.cluster import ADDRESS, Cluster, Plan
from leadsman.lab.held import producer_ids
from leadsman.lab.network import Forwarder
from leadsman.lab.network import Path as Way
from leadsman.lab.survival.table import between

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LIMIT_SECONDS = 3.0
STANDS_FOR_SECONDS = 350.0
"""What a NAT of AWS allows."""

WORKERS = 40
INVOCATIONS = 10_000
"""250 for each worker, on average one limit apart: 24 hours."""

DEADLINE = timedelta(seconds=3)
TOPIC = "orders"
DOCS = Path("docs")
MARKS = ("<!-- written by python -m leadsman.lab.survival.reuse; do not edit -->", "<!-- until here, of the reuse -->")


class Send(Protocol):
    """What a worker does in an invocation; raises what goes wrong."""

    def __call__(self, value: str) -> object:
        """Store one record."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One kind of worker."""

    name: str
    says: str
    wrapped: bool
    idempotent: bool

    def worker(self, bootstrap: str) -> Send:
        """Return a new worker's way to store a record."""
        config = {"bootstrap.servers": bootstrap, "enable.idempotence": self.idempotent, "log_level": 0}
        return _wrapped(config) if self.wrapped else _plain(config)


VARIANTS = (
    Variant("plain", "plain, idempotent", wrapped=False, idempotent=True),
    Variant("wrapped", "wrapped, idempotent", wrapped=True, idempotent=True),
    Variant("wrapped_light", "wrapped, `enable.idempotence` off", wrapped=True, idempotent=False),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """What came of one variant's day."""

    variant: str
    says: str
    day: str
    invocations: int
    errors: int
    lost_acknowledged: int
    duplicated: int
    worst_seconds: float
    producer_ids: int


def _plain(config: dict[str, Any]) -> Send:
    """One producer for the life of the worker; a record may take as long as the invocation."""
    from confluent_kafka import Producer  # noqa: PLC0415 (the lab's extra)

    producer: Any = Producer({**config, "message.timeout.ms": int(DEADLINE.total_seconds() * 900)})

    def send(value: str) -> None:
        told: list[Any] = []
        producer.produce(TOPIC, value.encode(), on_delivery=lambda error, _: told.append(error))
        producer.flush(DEADLINE.total_seconds())
        if told != [None]:
            raise TimeoutError(str(told))

    return send


def _wrapped(config: dict[str, Any]) -> Send:
    hop = Hop("path", timedelta(seconds=LIMIT_SECONDS), freezes=True)
    producers = kafka_producer_provider(config, path=hop, within=DEADLINE)
    return lambda value: producers.deliver(TOPIC, value, within=DEADLINE)


def play(variant: Variant, invocations: int) -> Day:
    """Have all workers live through their day."""
    limit = timedelta(seconds=LIMIT_SECONDS)
    with Forwarder(forgets_after=limit) as forwarder, Cluster(Plan(through={1: forwarder.port})) as cluster:
        forwarder.target = (ADDRESS, cluster.brokers[0].ports["PROXY"])
        cluster.create_topic(TOPIC)
        bootstrap = f"{ADDRESS}:{forwarder.port}"
        with faults.path(forwarder, Way.SILENT), ThreadPoolExecutor(WORKERS) as pool:
            each = invocations // WORKERS
            lives = [pool.submit(_live, variant.worker(bootstrap), f"{n}", each) for n in range(WORKERS)]
            told = [outcome for life in lives for outcome in life.result()]
        return _day(variant, told, Counter(cluster.read_topic(TOPIC)), producer_ids(cluster.brokers[0]))


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one invocation."""

    value: str
    stored: bool
    seconds: float


def _live(send: Send, name: str, invocations: int) -> list[Outcome]:
    gaps = random.Random(name)  # noqa: S311 (a repeatable day, no secret)
    told = []
    for number in range(invocations):
        threading.Event().wait(gaps.uniform(0.5, 1.5) * LIMIT_SECONDS)
        told.append(_invoke(send, f"{name}:{number}"))
    return told


def _invoke(send: Send, value: str) -> Outcome:
    began = time.monotonic()
    try:
        send(value)
    except Exception:  # noqa: BLE001 (whatever a client throws is the outcome)
        return Outcome(value, stored=False, seconds=time.monotonic() - began)
    return Outcome(value, stored=True, seconds=time.monotonic() - began)


def _day(variant: Variant, told: Sequence[Outcome], stored: Counter[str], ids: int) -> Day:
    return Day(
        variant=variant.name,
        says=variant.says,
        day=f"{datetime.now(UTC):%Y-%m-%d}",
        invocations=len(told),
        errors=sum(not outcome.stored for outcome in told),
        lost_acknowledged=sum(outcome.stored and not stored[outcome.value] for outcome in told),
        duplicated=sum(count > 1 for count in stored.values()),
        worst_seconds=max(outcome.seconds for outcome in told),
        producer_ids=ids,
    )


def text(days: Sequence[Day]) -> str:
    """Return the table."""
    return "\n".join(_lines(days))


def _lines(days: Sequence[Day]) -> Iterator[str]:
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
            f"| {day.says} | {day.invocations:,} | {day.errors:,} | {day.lost_acknowledged} | {day.duplicated} "
            f"| {day.worst_seconds:.2f} s | {day.producer_ids:,} |"
        )


def load(path: Path) -> list[Day]:
    """Return what was measured so far."""
    return [Day(**day) for day in json.loads(path.read_text(encoding="utf-8"))] if path.exists() else []


def save(day: Day, path: Path) -> None:
    """Keep it, in place of what the file says of that variant so far."""
    kept = {each.variant: each for each in (*load(path), day)}
    ordered = [asdict(kept[variant.name]) for variant in VARIANTS if variant.name in kept]
    path.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Play the variants one after the other, and write the table."""
    names = [variant.name for variant in VARIANTS]
    parser = argparse.ArgumentParser(prog="python -m leadsman.lab.survival.reuse", description="A day of reuse.")
    parser.add_argument("--only", nargs="*", choices=names, default=names, metavar="VARIANT", help=", ".join(names))
    parser.add_argument("--invocations", type=int, default=INVOCATIONS)
    parser.add_argument("--results", type=Path, default=DOCS / "reuse.json", help="where figures are kept")
    parser.add_argument("--page", type=Path, default=DOCS / "clients.md", help="where the table stands")
    asked = parser.parse_args()
    for variant in VARIANTS:
        if variant.name in asked.only:
            save(play(variant, asked.invocations), asked.results)
    days = load(asked.results)
    asked.page.write_text(between(asked.page.read_text(encoding="utf-8"), MARKS, text(days)), encoding="utf-8")
    sys.exit(any(day.errors or day.lost_acknowledged for day in days if day.variant != "plain"))


if __name__ == "__main__":
    main()
