"""Serverless fleets that resemble idle disconnects: restarts, deployments, other dependencies, coincidences."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bench.production import serverless_brokers as brokers
from bench.production.case import ABSENT, PRESENT, UNKNOWN, DiagnosisCase
from bench.production.serverless_dependencies import HTTP, JDBC, POSTGRES, REDIS
from bench.production.serverless_fleet import Capture, WorkerFleet, write_capture
from bench.production.serverless_forms import LogEvent, WorkerLog
from bench.production.serverless_outcomes import (
    NOON_MS,
    after_gaps,
    at_once,
    at_random,
    before_noon,
    in_invocations,
)
from bench.production.serverless_wordings import (
    FAILED,
    JAVA_3,
    KAFKA_PYTHON,
    RDKAFKA,
    REFUSED,
    SENT,
    SLOW,
    STALLED,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from bench.production.serverless_fleet import WorkerInvocation

FAMILY = "serverless workers"
IDLE = "idle_disconnect"


def _case(
    name: str, why: str, verdicts: Mapping[str, str], *, capture: Capture, conditions: tuple[str, ...] = ()
) -> DiagnosisCase:
    return DiagnosisCase(
        name=f"serverless/{name}",
        family=FAMILY,
        form=capture.form,
        why=why,
        expected=verdicts,
        write=partial(write_capture, capture=capture),
        conditions=conditions,
    )


def _fleet(client: str, outcome: Callable[[WorkerInvocation], str], **changed: object) -> WorkerFleet:
    return WorkerFleet(function="order-intake", client=client, outcome=outcome, **changed)  # type: ignore[arg-type]


# ---- failures that do not follow gaps ----


def _random_times() -> tuple[DiagnosisCase, ...]:
    why = "Four of a hundred sends fail after short and long gaps alike; most gaps of every length are unharmed."
    forms = ((JAVA_3, "filter-log-events JSON"), (RDKAFKA, "S3 export"), (KAFKA_PYTHON, "aws logs tail"))
    return tuple(
        _case(
            f"random-{client.split()[0]}",
            why,
            {IDLE: ABSENT},
            capture=Capture(fleets=(_fleet(client, at_random(0.04, FAILED)),), form=form),
        )
        for client, form in forms
    )


def _restarts() -> tuple[DiagnosisCase, ...]:
    fleet = partial(
        _fleet, outcome=at_once(NOON_MS, 45, REFUSED), moment_ms=NOON_MS, starts=before_noon, failing_node=2
    )
    logged = Capture(fleets=(fleet(JAVA_3),), form="get-log-events JSON", beside=(brokers.restarted,))
    unlogged = Capture(fleets=(fleet(RDKAFKA),), form="filter-log-events JSON")
    python = Capture(fleets=(fleet(KAFKA_PYTHON),), form="text with times")
    why = (
        "Every failure falls into one minute in which connections are refused; long gaps before and "
        "after it are unharmed."
    )
    return (
        _case(
            "restart-with-broker-log",
            f"{why} The broker's log shows its restart at that minute.",
            {IDLE: ABSENT},
            capture=logged,
            conditions=("broker_restarted",),
        ),
        _case("restart-without-broker-log", why, {}, capture=unlogged),
        _case("restart-without-broker-log-python", why, {}, capture=python),
    )


def _dependencies() -> tuple[DiagnosisCase, ...]:
    why = "A connection to {} fails after idle gaps, while the records to Kafka are published after the same gaps."
    rows = (
        (POSTGRES, KAFKA_PYTHON, "filter-log-events JSON"),
        (REDIS, RDKAFKA, "aws logs tail"),
        (HTTP, KAFKA_PYTHON, "S3 export"),
        (JDBC, JAVA_3, "get-log-events JSON"),
    )
    return tuple(
        _case(
            f"dependency-{dependency}",
            why.format(dependency),
            {IDLE: ABSENT},
            capture=Capture(fleets=(_fleet(client, after_gaps(350, dependency)),), form=form),
        )
        for dependency, client, form in rows
    )


# ---- coincidences ----

LONG_INVOCATION, LONG_WORKERS = 20, 13
"""Which gap is long, and in how many workers' lives."""


def _short(random: Random) -> float:
    return min(2.0 + random.lognormvariate(3.0, 0.8), 120.0)


def _one_long(random: Random, worker: int, number: int) -> float:
    """Gaps below two minutes, but one of a quarter to half an hour in each of the first workers' lives."""
    return random.uniform(900, 1800) if number == LONG_INVOCATION and worker < LONG_WORKERS else _short(random)


def _long(random: Random, _worker: int, number: int) -> float:
    """Four gaps of five are a quarter to half an hour long."""
    return random.uniform(900, 1800) if number % 5 else _short(random)


def _few(failures: int) -> tuple[DiagnosisCase, ...]:
    chosen = {(worker, 20) for worker in (2, 5, 9)[:failures]}
    many = {(worker, 21) for worker in (2, 9, 17)[:failures]}
    among_ten = Capture(
        fleets=(_fleet(JAVA_3, in_invocations(chosen, FAILED), gap=_one_long, least_workers=13),), form="S3 export"
    )
    among_thousands = Capture(
        fleets=(_fleet(JAVA_3, in_invocations(many, FAILED), gap=_long, invocations=60, least_workers=42),),
        form="S3 export",
    )
    rate = f"{failures} of 13 gaps of that length failed and {13 - failures} did not"
    return (
        _case(
            f"few-{failures}-of-thirteen",
            f"{rate}: an idle limit would have dropped nearly all of them; so few failures do not "
            "tell a limit from chance.",
            {IDLE: UNKNOWN},
            capture=among_ten,
        ),
        _case(
            f"few-{failures}-of-two-thousand",
            f"{failures} of some two thousand gaps of that length failed, one in a thousand and as "
            "Fisher's exact test has it by chance "
            "(p above 0.4): no limit on the path ends idle connections of that age.",
            {},
            capture=among_thousands,
        ),
    )


def _one_of_one() -> DiagnosisCase:
    fleet = _fleet(
        KAFKA_PYTHON, in_invocations({(0, 1)}, FAILED), gap=_twenty_minutes, invocations=2, least_workers=1, share=0.0
    )
    return _case(
        "one-of-one",
        "The whole history is two invocations: the second came twenty minutes later and failed. One "
        "failure proves no pattern.",
        {IDLE: UNKNOWN},
        capture=Capture(fleets=(fleet,), form="aws logs tail"),
    )


def _twenty_minutes(random: Random, _worker: int, _number: int) -> float:
    return random.uniform(1180, 1260)


# ---- how the logs were taken ----

SAMPLED = 0.1


def _shuffled(stream: WorkerLog, random: Random) -> WorkerLog:
    lines = list(stream.lines)
    random.shuffle(lines)
    return WorkerLog(stream.name, lines)


def _sampled(stream: WorkerLog, random: Random) -> WorkerLog:
    return WorkerLog(stream.name, (line for line in stream.lines if random.random() < SAMPLED))


def _times_of_no_order(stream: WorkerLog, random: Random) -> WorkerLog:
    return WorkerLog(
        stream.name, (LogEvent(NOON_MS + random.randrange(-(10**8), 10**8), line.text) for line in stream.lines)
    )


def _failing_only(stream: WorkerLog, _random: Random) -> WorkerLog | None:
    lines = list(stream.lines)
    failed = any("could not publish" in line.text or "delivery of" in line.text for line in lines)
    return WorkerLog(stream.name, lines) if failed else None


def _taken() -> tuple[DiagnosisCase, ...]:
    fleet = _fleet(JAVA_3, after_gaps(350, FAILED))
    python = _fleet(KAFKA_PYTHON, after_gaps(600, FAILED))
    sampled = _fleet(JAVA_3, after_gaps(350, FAILED), share=8.0, least_workers=60)
    untimed = _fleet(JAVA_3, after_gaps(350, FAILED), timed=False)
    return (
        _case(
            "shuffled",
            "Lines lie shuffled in each file and every line keeps its time: put in order they show "
            "failures after gaps above 350 s only.",
            {IDLE: PRESENT},
            capture=Capture(fleets=(fleet,), form="S3 export", rearrange=_shuffled),
        ),
        _case(
            "shuffled-tail",
            "The same of kafka-python and 600 s, one file a stream: order is by time, not by place.",
            {IDLE: PRESENT},
            capture=Capture(fleets=(python,), form="get-log-events text", rearrange=_shuffled_single),
        ),
        _case(
            "sampled",
            "One line in ten was kept: a gap between two kept lines is no idle gap, so failures "
            "cannot be set against gaps.",
            {IDLE: UNKNOWN},
            capture=Capture(fleets=(sampled,), form="S3 export", rearrange=_sampled),
        ),
        _case(
            "failing-workers-only",
            "The streams were chosen for having a failure, yet each is whole: in each of them sends "
            "fail after gaps above 350 s and no other.",
            {IDLE: PRESENT},
            capture=Capture(
                fleets=(_fleet(RDKAFKA, after_gaps(350, FAILED)),), form="text with times", rearrange=_failing_only
            ),
        ),
        _case(
            "no-times",
            "Lines bear no time: records failed for a dropped connection, and how long a worker had "
            "been idle before is not known.",
            {IDLE: UNKNOWN},
            capture=Capture(fleets=(untimed,), form="text"),
        ),
        _case(
            "times-of-no-order",
            "The times of lines are garbage, START after END and no order at all: no gap can be measured.",
            {IDLE: UNKNOWN},
            capture=Capture(fleets=(untimed,), form="get-log-events JSON", rearrange=_times_of_no_order),
        ),
    )


def _shuffled_single(stream: WorkerLog, random: Random) -> WorkerLog:
    """Shuffles without tracebacks' further lines, which have no time to be put in order by."""
    lines = [LogEvent(line.at_ms, line.text.split("\n")[0]) for line in stream.lines]
    random.shuffle(lines)
    return WorkerLog(stream.name, lines)


def _clocks() -> tuple[DiagnosisCase, ...]:
    skewed = _fleet(KAFKA_PYTHON, after_gaps(350, FAILED), skews_ms=(0, 187_000, -94_000, 421_000, -333_000))
    two = (
        WorkerFleet(
            function="order-intake", client=JAVA_3, outcome=after_gaps(240, FAILED), share=0.5, least_workers=10
        ),
        WorkerFleet(
            function="invoice-mailer", client=RDKAFKA, outcome=after_gaps(600, FAILED), share=0.5, least_workers=10
        ),
    )
    return (
        _case(
            "clock-skew",
            "The programs' own clocks are wrong by minutes and CloudWatch's times are right: each "
            "worker's failures follow gaps above 350 s.",
            {IDLE: PRESENT},
            capture=Capture(fleets=(skewed,), form="filter-log-events JSON"),
        ),
        _case(
            "two-limits",
            "One function's sends fail after gaps above 240 s, the other's above 600 s, and no others of either do.",
            {IDLE: PRESENT},
            capture=Capture(fleets=two, form="aws logs tail"),
        ),
        _case(
            "two-fleets-one-harmed",
            "The second function fares well after every gap, the first fails after those above 240 "
            "s: its path has the limit.",
            {IDLE: PRESENT},
            capture=Capture(
                fleets=(two[0], _fleet_of("invoice-mailer", at_random(0.0, FAILED))), form="filter-log-events JSON"
            ),
        ),
    )


def _fleet_of(function: str, outcome: Callable[[WorkerInvocation], str]) -> WorkerFleet:
    return WorkerFleet(function=function, client=RDKAFKA, outcome=outcome, share=0.5, least_workers=10)


# ---- one instant, one broker, no hop ----

SLOW_PART, BAND_S = 0.06, (21.0, 25.0)


def _instants() -> tuple[DiagnosisCase, ...]:
    deployed = partial(_fleet, outcome=at_once(NOON_MS, 20, FAILED), moment_ms=NOON_MS, starts=before_noon)
    stalled = partial(
        _fleet, outcome=at_once(NOON_MS - 25_000, 40, STALLED), moment_ms=NOON_MS, starts=before_noon, failing_node=2
    )
    slow = _fleet(RDKAFKA, _slow_calls)
    banded = _fleet(KAFKA_PYTHON, _gaps_of_21_to_25_seconds)
    return (
        _case(
            "deployment",
            "All failures fall into one deployment's twenty seconds, after gaps from seconds to an "
            "hour; such gaps are unharmed at any other time.",
            {IDLE: ABSENT},
            capture=Capture(fleets=(deployed(JAVA_3),), form="filter-log-events JSON", beside=(brokers.deployed,)),
        ),
        _case(
            "frozen-broker",
            "A frozen broker stalls the requests of idle and busy workers alike in one minute; its "
            "controller fences it then.",
            {IDLE: ABSENT},
            capture=Capture(fleets=(stalled(JAVA_3),), form="aws logs tail", beside=(brokers.frozen,)),
            conditions=("broker_fenced",),
        ),
        _case(
            "no-hop-explains-it",
            "Brokers close at 600 s; failures come 21 to 25 s into a silent call, at random times, "
            "and gaps of hours are unharmed.",
            {IDLE: ABSENT},
            capture=Capture(fleets=(slow,), form="text with times", beside=(brokers.properties,)),
        ),
        _case(
            "shorter-than-any-limit",
            "Sends fail after gaps of 21 to 25 s, and gaps of minutes and hours are unharmed: no "
            "idle limit spares the longer ones.",
            {IDLE: ABSENT},
            capture=Capture(fleets=(banded,), form="get-log-events JSON", beside=(brokers.properties,)),
        ),
    )


def _slow_calls(invocation: WorkerInvocation) -> str:
    return SLOW if invocation.number and invocation.random.random() < SLOW_PART else SENT


def _gaps_of_21_to_25_seconds(invocation: WorkerInvocation) -> str:
    return FAILED if BAND_S[0] <= invocation.gap_s <= BAND_S[1] else SENT


def cases() -> tuple[DiagnosisCase, ...]:
    """The twins of the serverless incident."""
    few = tuple(case for failures in (1, 2, 3) for case in _few(failures))
    return (
        *_random_times(),
        *_restarts(),
        *_dependencies(),
        *few,
        _one_of_one(),
        *_taken(),
        *_clocks(),
        *_instants(),
    )
