# ruff: noqa: E501, ISC004 - log lines are as long as they are
"""Makes up mixed Kafka logs: the same bytes for the same size, on every machine."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate, cycle, islice
from pathlib import Path
from typing import Any

from bench import lines
from bench.lines import LineTemplate

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "leadsman" / "bench"
SIZES = {"smoke": (10, 10), "full": (1600, 60)}
"""Megabytes and writers."""

VERSION = 2
"""Goes up when anything here changes, so that an old folder is not taken for the new data."""

SEED = 20201220
STARTED_MS = 1_613_433_600_000  # 2021-02-16T00:00:00Z
FAILURES = 0.005
"""Share of the lines that tell of a failure: an hour of a bad day."""

PAUSES = 0.0005
"""Share of the lines before which a busy process was quiet for up to a minute."""

SECONDS_BETWEEN_LINES = 0.025
LINES_AT_ONCE = 100
LONGEST_PAUSE_SECONDS = 60

WORKERS = 24
"""Serverless workers in the incident; each writes a few hundred lines a day and is quiet in between."""

BROKER_IDLE_SECONDS = 600

Values = dict[str, Any]
Layout = Callable[[int, LineTemplate, Values], str]


@dataclass(frozen=True, slots=True)
class LogKind:
    """One kind of log file: what is in it, how a line is laid out, and where it lies."""

    ordinary: Sequence[LineTemplate]
    failures: Sequence[LineTemplate]
    layout: Layout
    folder: str
    streams: int = 1  # among how many log streams one writer's bytes are divided


def stamp(at: int) -> str:
    """Return milliseconds since 1970 as `2021-02-16 12:36:02.123`."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(" ", "milliseconds")[:23]


def with_below(first: str, line: LineTemplate, values: Values) -> str:
    """Return a line and what follows it."""
    return "\n".join([first, *(text.format_map(values) for text in line.below)])


def broker(at: int, line: LineTemplate, values: Values) -> str:
    """Lay out as log4j does in Kafka's own configuration."""
    text = line.text.format_map(values)
    return with_below(f"[{stamp(at).replace('.', ',')}] {line.level} {text} ({line.logger})", line, values)


def java(at: int, line: LineTemplate, values: Values) -> str:
    """Lay out as logback does by default."""
    text = line.text.format_map(values)
    first = f"{stamp(at)} [kafka-producer-network-thread | producer-{values['client']}] {line.level:<5} {line.logger} - {text}"
    return with_below(first, line, values)


def json_line(at: int, line: LineTemplate, values: Values) -> str:
    """Lay out as logstash-logback-encoder does."""
    stack = {"stack_trace": "\n".join(line.below).format_map(values)} if line.below else {}
    return json.dumps(
        {
            "@timestamp": stamp(at).replace(" ", "T") + "Z",
            "@version": "1",
            "message": line.text.format_map(values),
            "logger_name": line.logger,
            "thread_name": "kafka-coordinator-heartbeat-thread | " + values["group"],
            "level": line.level,
            "level_value": 20000,
            **stack,
            "host": "app-1.prod",
            "service": "orders",
        },
        separators=(",", ":"),
    )  # fmt: skip - one line as the encoder writes it


def librdkafka(at: int, line: LineTemplate, values: Values) -> str:
    """Lay out as librdkafka does on stderr."""
    return (
        f"%{line.level}|{at // 1000}.{at % 1000:03d}|{line.logger}|rdkafka#producer-1| {line.text.format_map(values)}"
    )


def cloudwatch(at: int, line: LineTemplate, values: Values) -> str:
    """Lay out as CloudWatch exports what a function wrote; now and then an invocation begins and ends."""
    iso = stamp(at).replace(" ", "T") + "Z"
    if values["size"] % 12 == 0:
        request = values["id"]
        return (
            f"{iso} START RequestId: {request} Version: $LATEST\n{iso} END RequestId: {request}\n"
            f"{iso} REPORT RequestId: {request}\tDuration: {values['size']}.25 ms\tBilled Duration: {values['size']} ms\t"
            f"Memory Size: 512 MB\tMax Memory Used: 93 MB"
        )
    return f"{iso} {iso}\t{values['id']}\t{line.level}\t{line.logger}\t{line.text.format_map(values)}"


KINDS = {
    "broker": LogKind(lines.BROKER, lines.BROKER_FAILURES, broker, "brokers/kafka-{number:03d}/server.log"),
    "java": LogKind(lines.CLIENT, lines.CLIENT_FAILURES, java, "clients/app-{number:03d}/app.log"),
    "json": LogKind(lines.CLIENT, lines.CLIENT_FAILURES, json_line, "clients/app-{number:03d}/app.json"),
    "librdkafka": LogKind(
        lines.LIBRDKAFKA, lines.LIBRDKAFKA_FAILURES, librdkafka, "clients/native-{number:03d}/stderr.log"
    ),
    "lambda": LogKind(
        lines.CLIENT,
        lines.CLIENT_FAILURES,
        cloudwatch,
        "lambda/fn-{number:03d}/2021/02/16/[$LATEST]{stream:032x}/000000",
        streams=8,
    ),
}  # fmt: skip - a table
MIX = ("broker", "java", "broker", "json", "java", "librdkafka", "broker", "java", "json", "lambda")
"""What every ten writers are."""


def generated(size: str) -> Path:
    """Return the logs of `python -m bench` of one of SIZES, made where they are not in the cache yet."""
    return generate(CACHE / size, *SIZES[size])


def generate(folder: Path, megabytes: int, writers: int) -> Path:
    """Return `folder`, filled unless it was filled before. Each writer has a seed of its own, so order does not matter."""
    marker = folder / ".complete"
    stamp = f"{VERSION} {SEED} {megabytes} {writers}"
    if marker.exists() and marker.read_text() == stamp:
        return folder / "logs"
    shutil.rmtree(folder, ignore_errors=True)
    each = megabytes * 1_000_000 // writers
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = [
            pool.submit(_write_writer, folder / "logs", number, kind, each)
            for number, kind in enumerate(islice(cycle(MIX), writers))
        ]
        jobs += [pool.submit(_write_worker, folder / "logs", number) for number in range(WORKERS)]
        for done, job in enumerate(jobs, 1):
            job.result()
            print(f"\rGenerating logs: {done} of {len(jobs)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    marker.write_text(stamp)
    return folder / "logs"


def _write_writer(root: Path, number: int, kind_name: str, size: int) -> None:
    """Write one process's log, rotated once, or one function's log streams."""
    kind = KINDS[kind_name]
    chance = random.Random(SEED + number)
    content = _content(kind, chance, number)
    if kind.streams > 1:
        names = [kind.folder.format(number=number, stream=chance.getrandbits(128)) for _ in range(kind.streams)]
    else:
        name = kind.folder.format(number=number)
        names = [f"{name}.1", name]
    for name in names:
        _write(root / name, content, size // len(names))


def _write(path: Path, content: Iterator[str], size: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        written = 0
        for piece in content:
            written += file.write(piece)
            if written >= size:
                return


def _content(kind: LogKind, chance: random.Random, number: int) -> Iterator[str]:
    """Yield pieces of a log without end."""
    at = STARTED_MS + chance.randrange(1_000_000)
    ordinary, failures = _chooser(kind.ordinary, chance), _chooser(kind.failures, chance)
    while True:
        piece = []
        for line in ordinary(LINES_AT_ONCE):
            at += int(chance.expovariate(1 / SECONDS_BETWEEN_LINES) * 1000)
            if chance.random() < PAUSES:
                at += chance.randrange(LONGEST_PAUSE_SECONDS * 1000)
            lines = failures(1)[0] if chance.random() < FAILURES else line
            piece.append(kind.layout(at, lines, draw(chance, number)))
        yield "\n".join(piece) + "\n"


def _chooser(choice: Sequence[LineTemplate], chance: random.Random) -> Callable[[int], list[LineTemplate]]:
    weights = list(accumulate(line.share for line in choice))
    return lambda count: chance.choices(choice, cum_weights=weights, k=count)


def draw(chance: random.Random, number: int) -> Values:
    """Make up what stands in one line."""
    bits = chance.getrandbits(128)
    text = f"{bits:032x}"
    return {
        "topic": lines.TOPICS[bits % len(lines.TOPICS)],
        "group": lines.GROUPS[bits % len(lines.GROUPS)],
        "partition": (bits >> 8) % 48,
        "node": (bits >> 16) % 7,
        "broker": number % 7,
        "client": number % 5,
        "size": 1000 + (bits >> 24) % 9000,
        "offset": bits >> 95,
        "id": f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}",
    }


def _write_worker(root: Path, number: int) -> None:
    """Write a serverless worker of the founding incident: it fails when it was quiet for longer than the broker waits."""
    chance = random.Random(SEED - 1 - number)
    at = STARTED_MS + chance.randrange(3_600_000)
    lines = []
    for event in range(120):
        quiet = chance.choice((5, 30, 90, 200, 400, 580, 640, 1500)) + chance.random() * 15
        at += int(quiet * 1000)
        lines += _event(at, event, lost=quiet > BROKER_IDLE_SECONDS)
    stream = chance.getrandbits(128)
    path = root / f"lambda/orders/2021/02/16/[$LATEST]{stream:032x}/000000"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def _event(at: int, number: int, *, lost: bool) -> list[str]:
    iso = stamp(at).replace(" ", "T") + "Z"
    request = f"00000000-0000-4000-8000-{number:012x}"
    begin, end = f"{iso} START RequestId: {request} Version: $LATEST", f"{iso} END RequestId: {request}"
    if not lost:
        return [
            begin,
            f"{iso} {iso}\t{request}\tINFO\torders\tEvent {number} delivered to orders-0@{number} in 4 ms",
            end,
        ]
    cause = "org.apache.kafka.common.errors.NetworkException: The server disconnected before a response was received."
    return [
        begin,
        f"{iso} {iso}\t{request}\tWARN\torg.apache.kafka.clients.producer.internals.Sender\t[Producer clientId=producer-1] "
        f"Received invalid metadata error in produce request on partition orders-0 due to {cause}. Going to request metadata "
        "update now",
        f"{iso} {iso}\t{request}\tERROR\torders\tEvent {number} failed: {cause}",
        end,
    ]
