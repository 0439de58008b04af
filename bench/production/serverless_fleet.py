"""A fleet of workers: when each is invoked, what comes of its sends, and the lines that it logs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING
from uuid import UUID

from bench.production import serverless_platform as platform
from bench.production.serverless_dependencies import DEPENDENCIES
from bench.production.serverless_forms import FORMS, WEIGHT, LogEvent, WorkerLog, iso, plain
from bench.production.serverless_wordings import (
    JAVA_2,
    JAVA_3,
    JAVA_4,
    KILLED,
    RAW,
    RDKAFKA,
    SENT,
    WORDS,
    LogCall,
    Send,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DAY_0_MS = int(datetime(2026, 11, 17, tzinfo=UTC).timestamp() * 1000)
HOUR_MS = 3_600_000
LAMBDA, SERVICE = "lambda", "service"
KILLED_AFTER_MS = 15_002.41
"""What REPORT says of an invocation that its function's timeout of 15 s ended."""
VERSIONS = {
    JAVA_2: ("2.6.3", "8a3b51a1f1c1d2b8"),
    JAVA_3: ("3.7.1", "e2494e6ffb89f828"),
    JAVA_4: ("4.0.0", "985bc99521dd22bb"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerInvocation:
    """An invocation that sends a record. `number` counts the worker's invocations from 0; the first has no gap."""

    worker: int
    number: int
    at_ms: int
    gap_s: float
    random: Random


def long_tailed(random: Random, _worker: int, _number: int) -> float:
    """Seconds between invocations: half are below a minute and a half, a fifth above six minutes, a few hours long."""
    return min(2.0 + random.lognormvariate(4.4, 1.6), 3.0 * 3600)


def any_time(random: Random) -> int:
    """A time in three days, early enough for a worker's life to end within them."""
    return DAY_0_MS + int(random.random() * 60 * HOUR_MS)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerFleet:
    """Workers of one function, whose logs are text or JSON.

    `outcome` says what comes of a send; `moment_ms` is a time when all workers are busy. `zones` are the minutes east
    of UTC of the workers' own clocks' times, in turn; `skews_ms` is by how much those clocks are wrong. `failing_node`
    is the one broker whose sends fail, where it is just one. `share` is the fleet's part of a capture's bytes.
    """

    function: str
    client: str
    outcome: Callable[[WorkerInvocation], str]
    gap: Callable[[Random, int, int], float] = long_tailed
    starts: Callable[[Random], int] = any_time
    invocations: int = 26
    style: str = LAMBDA
    time_out_ms: int = 30_000
    moment_ms: int | None = None
    failing_node: int | None = None
    zones: tuple[int, ...] = ()
    skews_ms: tuple[int, ...] = (0,)
    share: float = 1.0
    least_workers: int = 12
    levels: tuple[str, ...] = ("INFO", "WARN", "WARNING", "ERROR", RAW)
    timed: bool = True
    json_lines: bool = False

    @property
    def invocation_bytes(self) -> int:
        """About what an invocation's lines weigh."""
        return 660 if self.style == LAMBDA else 330


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetWorker:
    """One execution environment, or one process of a service."""

    fleet: WorkerFleet
    index: int
    random: Random
    name: str
    start_ms: int
    skew_ms: int
    zone_minutes: int | None


def streams(fleet: WorkerFleet, random: Random, workers: int) -> Iterator[WorkerLog]:
    """The logs of so many workers, each made when it is read."""
    for index in range(workers):
        worker = _worker(fleet, Random(random.getrandbits(64)), index)
        yield WorkerLog(worker.name, worker_lines(worker))


def _worker(fleet: WorkerFleet, random: Random, index: int) -> FleetWorker:
    zone = fleet.zones[index % len(fleet.zones)] if fleet.zones else None
    start_ms = fleet.starts(random)
    return FleetWorker(
        start_ms=start_ms,
        fleet=fleet,
        index=index,
        random=random,
        name=_name(fleet, random, start_ms),
        skew_ms=fleet.skews_ms[index % len(fleet.skews_ms)],
        zone_minutes=zone,
    )


def _name(fleet: WorkerFleet, random: Random, start_ms: int) -> str:
    identity = f"{random.getrandbits(128):032x}"
    if fleet.style == LAMBDA:
        return f"{iso(start_ms)[:10].replace('-', '/')}/[$LATEST]{identity}"
    return f"{fleet.function}-{identity[:10]}-{identity[10:15]}"


def worker_lines(worker: FleetWorker) -> Iterator[LogEvent]:
    """What a worker logs in its life."""
    fleet, random = worker.fleet, worker.random
    at_ms = worker.start_ms
    yield from _begun(worker, at_ms)
    for number in range(fleet.invocations):
        gap_s = fleet.gap(random, worker.index, number) if number else 0.0
        began_ms = _busy(fleet, random, (at_ms, at_ms + int(gap_s * 1000)))
        gap_s = (began_ms - at_ms) / 1000
        invocation = WorkerInvocation(worker=worker.index, number=number, at_ms=began_ms, gap_s=gap_s, random=random)
        lines = list(_invocation_lines(worker, invocation))
        yield from lines
        at_ms = max((line.at_ms for line in lines), default=began_ms)


def _busy(fleet: WorkerFleet, random: Random, between: tuple[int, int]) -> int:
    moment_ms = fleet.moment_ms
    if moment_ms is not None and between[0] < moment_ms <= between[1]:
        return moment_ms + random.randrange(15_000)
    return between[1]


def _invocation_lines(worker: FleetWorker, invocation: WorkerInvocation) -> Iterator[LogEvent]:
    request = str(UUID(int=worker.random.getrandbits(128), version=4))
    outcome = worker.fleet.outcome(invocation)
    calls = [*_received(worker), *_what_came(worker, invocation, outcome), *_noise(worker)]
    kept = [word for word in sorted(calls, key=_delay) if word.level in worker.fleet.levels]
    if worker.fleet.style == LAMBDA:
        yield LogEvent(invocation.at_ms, _started(worker, invocation, request))
    for word in kept:
        yield LogEvent(
            invocation.at_ms + 2 + word.delay_ms, layout(worker, word, invocation.at_ms + 2 + word.delay_ms, request)
        )
    if worker.fleet.style == LAMBDA:
        took_ms = KILLED_AFTER_MS if outcome == KILLED else max(map(_delay, calls)) + 3 + worker.random.random()
        yield from _reported(worker, invocation, request, took_ms)


def _started(worker: FleetWorker, invocation: WorkerInvocation, request: str) -> str:
    if worker.fleet.json_lines:
        return platform.start(invocation.at_ms, request)
    return f"START RequestId: {request} Version: $LATEST"


def _delay(calls: LogCall) -> int:
    return calls.delay_ms


def _what_came(worker: FleetWorker, invocation: WorkerInvocation, outcome: str) -> list[LogCall]:
    send = _send(worker, invocation, outcome)
    if outcome in DEPENDENCIES:
        return [*WORDS[worker.fleet.client][SENT](send), DEPENDENCIES[outcome](send.took_ms + 9)]
    return WORDS[worker.fleet.client][outcome](send)


def _send(worker: FleetWorker, invocation: WorkerInvocation, outcome: str) -> Send:
    random = worker.random
    node = random.randrange(1, 4) if outcome == SENT else worker.fleet.failing_node or random.randrange(1, 4)
    return Send(
        at_ms=invocation.at_ms + 2 + worker.skew_ms,
        record=f"order-{random.randrange(10**7, 10**8)}",
        topic="orders.accepted",
        partition=random.randrange(24),
        offset=118_000 + invocation.number * 40 + random.randrange(40),
        node=node,
        host=f"b-{node}.ledger.kafka.internal",
        address=f"10.40.{node}.17",
        correlation=3 + invocation.number * 2,
        gap_ms=int(invocation.gap_s * 1000) + random.randrange(2, 40),
        took_ms=random.randrange(3, 14),
        time_out_ms=worker.fleet.time_out_ms,
    )


def _received(worker: FleetWorker) -> list[LogCall]:
    return [LogCall(0, "INFO", "Handler", f"received order of tenant {worker.random.randrange(100, 999)}")]


PACKAGES = {
    "NetworkClient": "o.a.k.c.",
    "FetchSessionHandler": "o.a.k.c.",
    "Metadata": "o.a.k.c.",
    "Sender": "o.a.k.c.producer.internals.",
    "ConsumerCoordinator": "o.a.k.c.c.internals.",
}
"""Packages of Kafka's classes as Spring Boot's pattern abbreviates them."""

NOISY = 0.3
"""The part of invocations that log something besides."""

NOISE = (
    ("INFO", "Prices", "price list cached, 312 entries, age 41 s"),
    ("INFO", "Handler", "GET /v2/tenants/rates 200 in 23 ms"),
    ("WARNING", "Handler", "tenant has no billing address, using the default one"),
    ("INFO", "Metrics", "flushed 14 datums"),
    ("ERROR", "Invoices", "template of tenant is missing, sent plain text"),
)


def _noise(worker: FleetWorker) -> list[LogCall]:
    if worker.random.random() > NOISY:
        return []
    level, logger, text = worker.random.choice(NOISE)
    return [LogCall(1, level, logger, text)]


def layout(worker: FleetWorker, calls: LogCall, at_ms: int, request: str) -> str:
    """The line as the program's logging set-up prints it."""
    if calls.level == RAW:
        return calls.text
    java = worker.fleet.client != RDKAFKA and "python" not in worker.fleet.client
    make = _java_line if java else _python_line
    return make(worker, calls, at_ms + worker.skew_ms, request)


def _time(worker: FleetWorker, at_ms: int) -> str:
    if not worker.fleet.timed:
        return ""
    return plain(at_ms) if worker.zone_minutes is None else iso(at_ms, worker.zone_minutes)


def _java_line(worker: FleetWorker, calls: LogCall, at_ms: int, request: str) -> str:
    level = {"WARNING": "WARN"}.get(calls.level, calls.level)
    if worker.fleet.style == LAMBDA:
        time = plain(at_ms)[:19] + " " if worker.fleet.timed else ""
        return f"{time}{request} {level:<5} {calls.logger} - {calls.text}"
    logger, thread = _java_names(calls)
    return f"{_time(worker, at_ms)} {level:<5} [{thread}] {logger} - {calls.text}".lstrip()


def _java_names(calls: LogCall) -> tuple[str, str]:
    """The abbreviated class and the thread that logs."""
    logger = PACKAGES.get(calls.logger, "") + calls.logger
    if "[Consumer " in calls.text:
        return logger, "ledger-listener-0-C-1"
    network = calls.logger in PACKAGES or calls.text.startswith("[Producer ")
    return logger, "kafka-producer-network-thread | producer-1" if network else "http-nio-8080-exec-3"


def _python_line(worker: FleetWorker, calls: LogCall, at_ms: int, request: str) -> str:
    if worker.fleet.json_lines:
        return platform.logged(at_ms, request, calls)
    if worker.fleet.style == LAMBDA:
        time = iso(at_ms) if worker.fleet.timed else ""
        return f"[{calls.level}]\t{time}\t{request}\t{calls.text}"
    return f"{_time(worker, at_ms)} {calls.level} {calls.logger}: {calls.text}".lstrip()


def _reported(worker: FleetWorker, invocation: WorkerInvocation, request: str, took_ms: float) -> Iterator[LogEvent]:
    end_ms = invocation.at_ms + int(took_ms) + 1
    if worker.fleet.json_lines:
        yield LogEvent(end_ms, platform.report(end_ms, request, took_ms, killed=took_ms == KILLED_AFTER_MS))
        return
    memory = f"Memory Size: 512 MB\tMax Memory Used: {worker.random.randrange(118, 171)} MB\t"
    cold = f"Init Duration: {worker.random.randrange(380, 1900)}.{worker.random.randrange(10, 99)} ms\t"
    report = f"Duration: {took_ms:.2f} ms\tBilled Duration: {int(took_ms) + 1} ms\t{memory}"
    yield LogEvent(end_ms, f"END RequestId: {request}")
    yield LogEvent(end_ms, f"REPORT RequestId: {request}\t{report}{'' if invocation.number else cold}")
    if took_ms == KILLED_AFTER_MS:
        yield LogEvent(end_ms, f"{iso(end_ms)} {request} Task timed out after 15.00 seconds")


def _begun(worker: FleetWorker, at_ms: int) -> Iterator[LogEvent]:
    fleet = worker.fleet
    if fleet.style == LAMBDA:
        runtime = "java:21.v34" if fleet.client in VERSIONS else "python:3.12.v61"
        arn = f"arn:aws:lambda:eu-west-1::runtime:{worker.random.getrandbits(256):064x}"
        plain_text = f"INIT_START Runtime Version: {runtime}\tRuntime Version ARN: {arn}"
        yield LogEvent(at_ms - 900, platform.init_start(at_ms - 900, arn) if fleet.json_lines else plain_text)
    for calls in _client_begun(worker, at_ms - 300):
        if calls.level in fleet.levels:
            yield LogEvent(
                at_ms - 300, layout(worker, calls, at_ms - 300, str(UUID(int=worker.random.getrandbits(128))))
            )


def _client_begun(worker: FleetWorker, at_ms: int) -> list[LogCall]:
    client = worker.fleet.client
    if client in VERSIONS:
        version, commit = VERSIONS[client]
        parser = "org.apache.kafka.common.utils.AppInfoParser"
        texts = (
            f"Kafka version: {version}",
            f"Kafka commitId: {commit}",
            f"Kafka startTimeMs: {at_ms + worker.skew_ms}",
        )
        known = LogCall(0, "INFO", "Metadata", "[Producer clientId=producer-1] Cluster ID: Rk3vQm1tSZqkS0rKpB9h5w")
        return [*(LogCall(0, "INFO", parser, text) for text in texts), known]
    if client == RDKAFKA:
        return [LogCall(0, "INFO", "publisher", "producer ready, librdkafka 2.6.1")]
    text = (
        "<BrokerConnection node_id=1 host=b-1.ledger.kafka.internal:9092 <connecting> [IPv4 "
        "('10.40.1.17', 9092)]>: Connection complete."
    )
    return [LogCall(0, "INFO", "kafka.conn", text)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """What a case writes: fleets in one form, changed by `rearrange`, and files beside them."""

    fleets: tuple[WorkerFleet, ...]
    form: str
    rearrange: Callable[[WorkerLog, Random], WorkerLog | None] | None = None
    beside: tuple[Callable[[Path, Random], None], ...] = ()


def write_capture(folder: Path, random: Random, size: int, *, capture: Capture) -> None:
    """Fills a folder with about so many bytes: more bytes mean more workers."""
    for fleet in capture.fleets:
        target = folder / "logs" / fleet.function
        target.mkdir(parents=True)
        made = streams(fleet, random, _workers(fleet, size, WEIGHT.get(capture.form, 1.2)))
        FORMS[capture.form](target, _rearranged(made, capture, random))
    for write in capture.beside:
        write(folder, random)


def _workers(fleet: WorkerFleet, size: int, weight: float) -> int:
    return max(fleet.least_workers, int(size * fleet.share / (fleet.invocations * fleet.invocation_bytes * weight)))


def _rearranged(made: Iterator[WorkerLog], capture: Capture, random: Random) -> Iterator[WorkerLog]:
    if capture.rearrange is None:
        yield from made
        return
    for stream in made:
        changed = capture.rearrange(stream, Random(random.getrandbits(64)))
        if changed is not None:
            yield changed
