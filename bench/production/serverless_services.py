"""Long-running services of low traffic beside the serverless fleets: half-open paths, healthy closes, mute logs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bench.production.case import ABSENT, PRESENT, UNKNOWN, DiagnosisCase
from bench.production.serverless_fleet import SERVICE, Capture, WorkerFleet, write_capture
from bench.production.serverless_outcomes import after_gaps, healthy
from bench.production.serverless_wordings import (
    CONSUMER_REOPENED,
    FAILED,
    JAVA_3,
    JAVA_4,
    KAFKA_PYTHON,
    RAW,
    RDKAFKA,
    RETRIED,
    STALLED,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.production.serverless_fleet import WorkerInvocation

FAMILY = "serverless workers"
IDLE = "idle_disconnect"
KOLKATA, UTC_ZONE, NEW_YORK = 330, 0, -300


def _service(client: str, outcome: Callable[[WorkerInvocation], str], **changed: object) -> WorkerFleet:
    return WorkerFleet(
        function="ledger-writer",
        client=client,
        outcome=outcome,
        style=SERVICE,
        invocations=70,
        **changed,  # type: ignore[arg-type]
    )


def _case(name: str, why: str, verdict: str, *, fleet: WorkerFleet, form: str) -> DiagnosisCase:
    return DiagnosisCase(
        name=f"serverless/{name}",
        family=FAMILY,
        form=form,
        why=why,
        expected={IDLE: verdict},
        write=partial(write_capture, capture=Capture(fleets=(fleet,), form=form)),
    )


def _half_open() -> tuple[DiagnosisCase, ...]:
    why = (
        "Requests stall for the whole request timeout after gaps above 350 s, and every send after a "
        "shorter gap takes milliseconds."
    )
    rows = ((JAVA_3, 30_000, "Docker JSON"), (RDKAFKA, 60_000, "Docker JSON"), (KAFKA_PYTHON, 30_000, "text"))
    return tuple(
        _case(
            f"half-open-{client.split()[0]}",
            why,
            PRESENT,
            fleet=_service(client, after_gaps(350, STALLED), time_out_ms=time_out_ms),
            form=form,
        )
        for client, time_out_ms, form in rows
    )


def _healthy() -> tuple[DiagnosisCase, ...]:
    why = (
        "Idle connections close and reopen within milliseconds; every record is published in "
        "milliseconds whatever the gap."
    )
    rows = (
        ("java", JAVA_3, healthy(540), "Docker JSON"),
        ("java-consumer", JAVA_4, after_gaps(540, CONSUMER_REOPENED), "text"),
        ("librdkafka", RDKAFKA, healthy(540), "text"),
        ("kafka-python", KAFKA_PYTHON, healthy(540), "Docker JSON"),
    )
    return tuple(
        _case(f"healthy-{name}", why, ABSENT, fleet=_service(client, outcome), form=form)
        for name, client, outcome, form in rows
    )


def _healthy_lambda() -> DiagnosisCase:
    fleet = WorkerFleet(function="order-intake", client=JAVA_3, outcome=healthy(350))
    why = (
        "Cancelled METADATA requests of 3 ms follow idle gaps, and each record of those invocations is "
        "published in milliseconds."
    )
    return _case("healthy-lambda", why, ABSENT, fleet=fleet, form="filter-log-events JSON")


def _zones() -> tuple[DiagnosisCase, ...]:
    why = (
        "Some workers log local time with its offset and some UTC; put on one clock, failures follow "
        "gaps above 350 s only."
    )
    zones = (KOLKATA, UTC_ZONE, NEW_YORK)
    return tuple(
        _case(
            f"zones-mixed-{client.split()[0]}",
            why,
            PRESENT,
            fleet=_service(client, after_gaps(350, harm), zones=zones),
            form="text",
        )
        for client, harm in ((JAVA_3, RETRIED), (KAFKA_PYTHON, FAILED))
    )


def _warnings_only() -> tuple[DiagnosisCase, ...]:
    why = (
        "The logs hold warnings and errors alone: sends that went well left no line, so a silent worker "
        "may have been busy."
    )
    return (
        _case(
            "warn-only-java",
            why,
            UNKNOWN,
            fleet=_service(JAVA_3, after_gaps(350, RETRIED), levels=("WARN", "WARNING", "ERROR"), least_workers=40),
            form="text",
        ),
        _case(
            "warn-only-librdkafka",
            why,
            UNKNOWN,
            fleet=_service(RDKAFKA, after_gaps(350, FAILED), levels=("WARNING", "ERROR", RAW), least_workers=40),
            form="Docker JSON",
        ),
    )


def cases() -> tuple[DiagnosisCase, ...]:
    """Cases of long-running services, and one healthy serverless fleet."""
    return (*_half_open(), *_healthy(), _healthy_lambda(), *_zones(), *_warnings_only())
