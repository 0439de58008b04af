"""Faults of Kafka clients that are none of the failure modes, in the words of four clients."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from bench.production import foreign_brokers as brokers
from bench.production import foreign_refusals as refusals
from bench.production import foreign_wordings as words
from bench.production.case import ABSENT, DiagnosisCase
from bench.production.foreign_brokers import BACK_S, BEGAN_MS, KILLED_MS
from bench.production.foreign_wordings import JAVA, KAFKA_PYTHON, RAW, RDKAFKA, SARAMA, Words
from bench.production.serverless_forms import FORMS, WEIGHT, LogEvent, WorkerLog, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

FAMILY = "none of ours"
ROUNDS = 160
"""Attempts that one host's log holds."""
ROUND_BYTES, QUIET_ROUND_BYTES = 600, 210

PYTHON_LEVELS = {"WARN": "WARNING"}

ALWAYS, AT_TIMES, ONCE_AWAY, ONCE_RESTARTED = "always", "at times", "once away", "once restarted"
"""When the fault shows: at every attempt, at one in six, while a broker is away, or as the program's own restart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFault:
    """What is wrong, in each client's words, and what an expert says of it."""

    name: str
    why: str
    wordings: Mapping[str, Words]
    when: str = ALWAYS
    expected: Mapping[str, str] = field(default_factory=dict)
    conditions: tuple[str, ...] = ()
    beside: Callable[[Path, Random], None] | None = None
    scheme: str = ""
    port: int = 9092


CLIENT_FAULTS = (
    ClientFault(
        name="advertised-listeners",
        why="Brokers advertise names that the client cannot resolve, so it never reaches a partition's leader.",
        wordings=words.LISTENERS,
        conditions=("client_never_connected",),
    ),
    ClientFault(
        name="internal-address",
        why="Brokers advertise addresses of their containers' network, which the client cannot reach.",
        wordings=words.INTERNAL_ADDRESS,
        conditions=("client_never_connected",),
    ),
    ClientFault(
        name="tls-handshake",
        why="The client does not trust the authority that signed the brokers' certificate; no handshake succeeds.",
        wordings=words.TLS,
        conditions=("certificate",),
        scheme="ssl://",
        port=9093,
    ),
    ClientFault(
        name="expired-certificate",
        why="A certificate expired at midnight and every handshake fails of it.",
        wordings=words.EXPIRED_CERTIFICATE,
        conditions=("certificate",),
        scheme="ssl://",
        port=9093,
    ),
    ClientFault(
        name="dns",
        why="The resolver does not answer for the bootstrap servers; no connection was ever tried.",
        wordings=words.DNS,
        conditions=("client_never_connected",),
    ),
    ClientFault(
        name="acl-denied",
        why="Brokers deny writing to one topic by name; entries of other topics are written after gaps of any length.",
        wordings=refusals.ACL,
        when=AT_TIMES,
        expected={"idle_disconnect": ABSENT},
        beside=brokers.denied,
    ),
    ClientFault(
        name="quota",
        why="Brokers throttle the client by quota: entries are late while the client is busy, and none fails.",
        wordings=refusals.QUOTA,
        when=AT_TIMES,
    ),
    ClientFault(
        name="fenced-producer",
        why="Two processes share one transactional id and fence each other.",
        wordings=refusals.FENCING,
        when=AT_TIMES,
    ),
    ClientFault(
        name="old-epoch",
        why="A producer's epoch was bumped elsewhere; its next records are refused as of an old epoch.",
        wordings=refusals.OLD_EPOCH,
        when=AT_TIMES,
    ),
    ClientFault(
        name="offsets-out-of-range",
        why="Retention deleted what a slow consumer had not read; its positions are reset to the log's start.",
        wordings=refusals.OFFSETS,
        when=AT_TIMES,
    ),
    ClientFault(
        name="disk-full",
        why="A broker's disk is full: its log directory fails and the broker shuts down, as its log says.",
        wordings=refusals.DISK,
        when=ONCE_AWAY,
        conditions=("disk_full",),
        beside=brokers.full_disk,
    ),
    ClientFault(
        name="broker-oom-killed",
        why="The kernel killed a broker because memory ran out, as kern.log says; clients are refused for a minute.",
        wordings=words.BROKER_GONE,
        when=ONCE_AWAY,
        conditions=("oom_killed",),
        beside=brokers.killed_by_kernel("java", "kafka-2"),
    ),
    ClientFault(
        name="client-oom-killed",
        why="The kernel killed the client's own process because memory ran out, and systemd started it anew.",
        wordings=words.STARTED,
        when=ONCE_RESTARTED,
        conditions=("oom_killed",),
        beside=brokers.killed_by_kernel("ledger-writer", "ledger-0"),
    ),
    ClientFault(
        name="record-too-large",
        why="Some records exceed the size limit and are refused; all others are written after gaps of any length.",
        wordings=refusals.TOO_LARGE,
        when=AT_TIMES,
        expected={"idle_disconnect": ABSENT},
    ),
    ClientFault(
        name="sasl-authentication",
        why="The client's password is wrong; brokers refuse every login.",
        wordings=words.SASL,
        beside=brokers.failed_logins,
        scheme="sasl_ssl://",
        port=9096,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One host's log of one client with a fault."""

    fault: ClientFault
    client: str
    random: Random


def _lines(host: Host) -> Iterator[LogEvent]:
    at_ms = BEGAN_MS + host.random.randrange(60_000)
    for number in range(ROUNDS):
        yield LogEvent(
            at_ms, _app_line(host, at_ms, "INFO", f"received batch of {host.random.randrange(1, 40)} entries")
        )
        lines = list(_round(host, at_ms + 4, number))
        yield from lines
        at_ms = _next_ms(host, max((line.at_ms for line in lines), default=at_ms))


def _next_ms(host: Host, at_ms: int) -> int:
    """The next attempt; where a process is killed, attempts follow within its absence."""
    next_ms = at_ms + _pause_ms(host.random)
    once = host.fault.when in {ONCE_AWAY, ONCE_RESTARTED}
    if once and at_ms < KILLED_MS <= next_ms:
        return KILLED_MS + 2_000 + host.random.randrange(9_000)
    if host.fault.when == ONCE_AWAY and KILLED_MS <= at_ms < KILLED_MS + BACK_S * 1000:
        return at_ms + 5_000 + host.random.randrange(7_000)
    return next_ms


def _pause_ms(random: Random) -> int:
    return int(min(1.5 + random.lognormvariate(3.4, 1.5), 1900) * 1000)


def _round(host: Host, at_ms: int, number: int) -> Iterator[LogEvent]:
    if _is_troubled(host, at_ms, number):
        fields = _fields(host)
        for index, (level, logger, text) in enumerate(host.fault.wordings[host.client]):
            time_ms = at_ms + 3 * index
            yield LogEvent(time_ms, _line(host, time_ms, (level, logger, text.format(**fields))))
    elif host.fault.when != ALWAYS:
        yield LogEvent(
            at_ms + 7, _app_line(host, at_ms + 7, "INFO", f"wrote entry {host.random.randrange(10**6)} in 6 ms")
        )
    elif number % 7 == 1:
        yield LogEvent(at_ms + 7, _app_line(host, at_ms + 7, "WARN", "entries wait in memory, 212 of 10000"))


def _is_troubled(host: Host, at_ms: int, number: int) -> bool:
    when = host.fault.when
    if when == AT_TIMES:
        return number % 6 == host.random.randrange(6)
    if when == ONCE_AWAY:
        return KILLED_MS <= at_ms < KILLED_MS + BACK_S * 1000
    if when == ONCE_RESTARTED:
        return number == 0 or KILLED_MS <= at_ms < KILLED_MS + 12_000
    return True


def _fields(host: Host) -> dict[str, str | int]:
    random = host.random
    node = 2 if host.fault.when == ONCE_AWAY else random.randrange(1, 4)
    return {
        "node": node,
        "host": f"b-{node}.ledger.kafka.internal",
        "ip": f"10.40.{node}.17",
        "port": host.fault.port,
        "scheme": host.fault.scheme,
        "state": "connecting",
        "topic": "ledger.entries",
        "partition": random.randrange(12),
        "offset": random.randrange(90_000, 99_999),
        "entry": random.randrange(10**5, 10**6),
        "correlation": random.randrange(5, 4000),
        "late": random.randrange(900, 4000),
        "large": random.randrange(1_100_000, 4_000_000),
        "reason": "EOF",
    }


def _line(host: Host, at_ms: int, wordings: tuple[str, str, str]) -> str:
    level, logger, text = wordings
    if level != RAW:
        return _app_line(host, at_ms, level, text, logger=logger)
    if logger == SARAMA:
        return f"[sarama] {plain(at_ms)[:19].replace('-', '/')} {text}"
    severity, facility = logger.split("|")
    return f"%{severity}|{at_ms / 1000:.3f}|{facility}{text}"


def _app_line(host: Host, at_ms: int, level: str, text: str, *, logger: str = "") -> str:
    if host.client == JAVA:
        return f"{plain(at_ms)} {level:<5} [main] {logger or 'c.f.l.LedgerWriter'} - {text}"
    if host.client == SARAMA:
        return f'time="{plain(at_ms)[:19].replace(" ", "T")}Z" level={level.lower()} msg="{text}"'
    return f"{plain(at_ms)} {PYTHON_LEVELS.get(level, level)} {logger or 'ledger'}: {text}"


def _write(folder: Path, random: Random, size: int, *, fault: ClientFault, client: str, form: str) -> None:
    (folder / "logs").mkdir()
    round_bytes = ROUND_BYTES if fault.when == ALWAYS else QUIET_ROUND_BYTES
    hosts = max(2, int(size / (ROUNDS * round_bytes * WEIGHT.get(form, 1.0))))
    FORMS[form](folder / "logs", _streams(fault, client, random, hosts))
    if fault.beside:
        fault.beside(folder, random)


def _streams(fault: ClientFault, client: str, random: Random, hosts: int) -> Iterator[WorkerLog]:
    for index in range(hosts):
        host = Host(fault=fault, client=client, random=Random(random.getrandbits(64)))
        yield WorkerLog(f"ledger-{index}", _lines(host))


def _case(fault: ClientFault, client: str) -> DiagnosisCase:
    form = "Docker JSON" if client in {RDKAFKA, SARAMA} else "text"
    return DiagnosisCase(
        name=f"foreign/{fault.name}-{client}",
        family=FAMILY,
        form=form,
        why=fault.why,
        expected=fault.expected,
        write=partial(_write, fault=fault, client=client, form=form),
        conditions=fault.conditions,
    )


def cases() -> tuple[DiagnosisCase, ...]:
    """Each fault in the words of each client that has it."""
    clients = (JAVA, RDKAFKA, KAFKA_PYTHON, SARAMA)
    return tuple(_case(fault, client) for fault in CLIENT_FAULTS for client in clients if client in fault.wordings)
