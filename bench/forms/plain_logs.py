"""Writes logs as programs write them: quiet, busy and at DEBUG, storms of errors, many small files, compressed."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import IO, TYPE_CHECKING, cast

import zstandard
from bench import generate, lines
from bench.forms.collectors import SEED, FleetLogs
from bench.production import foreign, ids_cluster, ids_logs
from bench.production import serverless_forms as forms
from bench.production.serverless_fleet import SERVICE, WorkerFleet, WorkerInvocation, long_tailed
from bench.production.serverless_outcomes import at_random, healthy
from bench.production.serverless_wordings import JAVA_3

if TYPE_CHECKING:
    from pathlib import Path

    from bench.generate import Layout
    from bench.lines import LineTemplate

IDLE_LIMIT_S = 540
INVOCATIONS = 20_000
"""Records that a process sends in its life: a log of some 5 MB."""

SERVICE_WEIGHT, SHORT_WEIGHT, SARAMA_WEIGHT = 0.75, 0.6, 0.6
"""Bytes written for each that the proving ground reckons with; clients that are not Java say less."""

Outcome = Callable[[WorkerInvocation], str]
Gap = Callable[[Random, int, int], float]

HARM_RATE = 0.02
STORM_LINE_BYTES = 200
"""A storm of 200 MB is one of a million lines."""

SMALL_FILES, SMALL_FILE_BYTES = 10_000, 5_000
FILES = 4


def service(client: str, outcome: Outcome, gap: Gap, weight: float = SERVICE_WEIGHT) -> FleetLogs:
    """A service's own log files, one for each process."""
    fleet = WorkerFleet(
        function="ledger", client=client, outcome=outcome, gap=gap, invocations=INVOCATIONS, style=SERVICE
    )
    return FleetLogs(forms.bare_text, weight, fleet)


def busy(client: str, harm: str, weight: float = SERVICE_WEIGHT) -> FleetLogs:
    """Ten records a second, some of which come to harm."""
    return service(client, at_random(HARM_RATE, harm), _often, weight)


def _often(random: Random, _worker: int, _number: int) -> float:
    return random.expovariate(10.0)


quiet = service(JAVA_3, healthy(IDLE_LIMIT_S), _often)
"""Nothing but what the service says of its own work."""

idle = service(JAVA_3, healthy(IDLE_LIMIT_S), long_tailed)
"""Long silences, and connections that brokers close in them."""


def broker_info(folder: Path, size: int) -> None:
    """`server.log` of three brokers by the hour."""
    brokers = ids_cluster.equal_brokers(3, ids_cluster.flat(9_000), connections=ids_cluster.flat(400))
    ids_logs.write_broker_logs(folder, Random(SEED), brokers=brokers, log=ids_logs.BrokerLog(), size=size)


def sarama(folder: Path, size: int) -> None:
    """A Go service that does not trust its brokers, from Docker."""
    case = next(case for case in foreign.cases() if case.name == "foreign/tls-handshake-sarama")
    case.write(folder, Random(SEED), int(size / SARAMA_WEIGHT))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """Lines of a program: which, laid out how, and the share of those that tell of a failure."""

    layout: Layout
    ordinary: Sequence[LineTemplate]
    failures: Sequence[LineTemplate]
    failing: float
    seconds_between: float = generate.SECONDS_BETWEEN_LINES

    def records(self, chance: Random) -> Iterator[str]:
        """Yield records without end, each with its line break."""
        at = float(generate.STARTED_MS)
        ordinary, failures = _chooser(self.ordinary, chance), _chooser(self.failures, chance)
        while True:
            at += chance.expovariate(1 / self.seconds_between) * 1000
            line = failures() if chance.random() < self.failing else ordinary()
            yield self.layout(int(at), line, generate.draw(chance, 1)) + "\n"

    def __call__(self, folder: Path, size: int) -> None:
        for number in range(FILES):
            with (folder / f"app-{number}.log").open("wb") as out:
                out.writelines(_up_to(self.records(Random(SEED + number)), size // FILES))


def _chooser(choice: Sequence[LineTemplate], chance: Random) -> Callable[[], LineTemplate]:
    weights = list(accumulate(line.share for line in choice))
    return lambda: chance.choices(choice, cum_weights=weights)[0]


def _up_to(records: Iterable[str], size: int) -> Iterator[bytes]:
    for record in records:
        data = record.encode()
        yield data
        size -= len(data)
        if size <= 0:
            return


def _at(level: str) -> tuple[LineTemplate, ...]:
    return tuple(line for line in lines.CLIENT if line.level == level and not line.below)


INFO = Mixture(layout=generate.java, ordinary=_at("INFO"), failures=lines.CLIENT_FAILURES, failing=0.01)
DEBUG = Mixture(layout=generate.java, ordinary=lines.CLIENT, failures=lines.CLIENT_FAILURES, failing=0.005)
BROKER_DEBUG = Mixture(layout=generate.broker, ordinary=lines.BROKER, failures=lines.BROKER_FAILURES, failing=0.005)
JSON_ENCODER = Mixture(
    layout=generate.json_line, ordinary=lines.CLIENT, failures=lines.CLIENT_FAILURES, failing=generate.FAILURES
)
RDKAFKA_DEBUG = Mixture(
    layout=generate.librdkafka, ordinary=lines.LIBRDKAFKA, failures=lines.LIBRDKAFKA_FAILURES, failing=0.005
)
STORM = Mixture(
    layout=generate.java,
    ordinary=tuple(line for line in lines.CLIENT_FAILURES if not line.below),
    failures=lines.CLIENT_FAILURES,
    failing=0.0,
    seconds_between=0.001,
)

SYLLABLES = ("ka", "to", "mi", "re", "so", "lu", "ne", "pa", "vi", "do", "gu", "he", "ja", "wo", "zi", "be")


def distinct_errors(folder: Path, size: int) -> None:
    """A million errors of which no two are of one kind: each names another part and another cause."""
    with (folder / "app.log").open("w", encoding="utf-8") as out:
        for number in range(max(1, size // STORM_LINE_BYTES)):
            out.write(_distinct(number))


def _distinct(number: int) -> str:
    at = generate.stamp(generate.STARTED_MS + number * 3)
    part = "".join(SYLLABLES[number >> shift & 15] for shift in range(0, 24, 4))
    request = f"{number * 2_654_435_761 % (1 << 32):08x}-5b1c-4e2f-9a77-{number:012x}"
    return (
        f"{at} [pool-3-thread-{number % 16}] ERROR com.acme.{part}.{part.title()}Handler - Request {request} of tenant "
        f"{number % 977}: the {part} store refused the write of entry {number}, and nobody answered for {part}\n"
    )


def small_files(folder: Path, size: int) -> None:
    """The records of a busy client, cut into many files."""
    records = INFO.records(Random(SEED))
    for number in range(_small_files(size)):
        place = folder / f"worker-{number:05d}"
        place.mkdir()
        with (place / "app.log").open("wb") as out:
            out.writelines(_up_to(records, SMALL_FILE_BYTES))


def one_file(folder: Path, size: int) -> None:
    """The same records as one file."""
    records = INFO.records(Random(SEED))
    with (folder / "app.log").open("wb") as out:
        for _ in range(_small_files(size)):
            out.writelines(_up_to(records, SMALL_FILE_BYTES))


def _small_files(size: int) -> int:
    return max(1, min(SMALL_FILES, size // SMALL_FILE_BYTES))


def compressed(suffix: str) -> Callable[[Path, int], None]:
    """The records of a busy client, each file compressed; the size is that of the text."""

    def write(folder: Path, size: int) -> None:
        for number in range(FILES):
            with (folder / f"app-{number}.log{suffix}").open("wb") as raw, _compressor(suffix, raw) as out:
                for data in _up_to(INFO.records(Random(SEED + number)), size // FILES):
                    out.write(data)

    return write


def _compressor(suffix: str, raw: IO[bytes]) -> IO[bytes]:
    if suffix == ".zst":
        return cast("IO[bytes]", zstandard.ZstdCompressor().stream_writer(raw))
    return cast("IO[bytes]", gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0))
