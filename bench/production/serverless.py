"""Serverless workers whose idle connections are dropped, and fleets that look like it for another reason."""

from __future__ import annotations

from functools import partial

from bench.production import serverless_services, serverless_twins
from bench.production.case import PRESENT, DiagnosisCase
from bench.production.serverless_fleet import Capture, WorkerFleet, write_capture
from bench.production.serverless_outcomes import after_gaps
from bench.production.serverless_wordings import (
    FAILED,
    JAVA_2,
    JAVA_3,
    JAVA_4,
    KAFKA_PYTHON,
    KILLED,
    RDKAFKA,
    RETRIED,
    STALLED,
    TIMED_OUT,
)

FAMILY = "serverless workers"

INCIDENTS = (
    ("240s-java2-failed", 240, JAVA_2, FAILED, "filter-log-events JSON", 0.0, 30_000),
    ("240s-librdkafka-timed-out", 240, RDKAFKA, TIMED_OUT, "get-log-events JSON", 0.0, 10_000),
    ("240s-kafka-python-failed", 240, KAFKA_PYTHON, FAILED, "aws logs tail", 0.1, 30_000),
    ("350s-java3-stalled", 350, JAVA_3, STALLED, "S3 export", 0.0, 30_000),
    ("350s-librdkafka-failed", 350, RDKAFKA, FAILED, "text with times", 0.0, 30_000),
    ("350s-kafka-python-timed-out", 350, KAFKA_PYTHON, TIMED_OUT, "filter-log-events JSON", 0.5, 30_000),
    ("600s-java4-failed", 600, JAVA_4, FAILED, "get-log-events JSON", 0.5, 30_000),
    ("600s-librdkafka-failed", 600, RDKAFKA, FAILED, "S3 export", 0.3, 30_000),
    ("600s-kafka-python-failed", 600, KAFKA_PYTHON, FAILED, "get-log-events text", 0.0, 30_000),
    ("600s-java3-retried", 600, JAVA_3, RETRIED, "aws logs tail", 0.1, 30_000),
    ("350s-kafka-python-retried", 350, KAFKA_PYTHON, RETRIED, "S3 export", 0.0, 30_000),
    ("350s-librdkafka-stalled", 350, RDKAFKA, STALLED, "filter-log-events JSON", 0.0, 60_000),
    ("350s-librdkafka-killed", 350, RDKAFKA, KILLED, "aws logs tail", 0.0, 10_000),
    ("350s-kafka-python-json", 350, KAFKA_PYTHON, FAILED, "filter-log-events JSON", 0.1, 30_000),
    ("600s-kafka-python-json", 600, KAFKA_PYTHON, FAILED, "S3 export", 0.0, 30_000),
    ("240s-librdkafka-json", 240, RDKAFKA, TIMED_OUT, "aws logs tail", 0.0, 10_000),
)
"""Name, limit in seconds, client, harm, form, part that is spared, the request's timeout in milliseconds."""


def _incident(row: tuple[str, int, str, str, str, float, int]) -> DiagnosisCase:
    name, limit_s, client, harm, form, unaffected, time_out_ms = row
    fleet = WorkerFleet(
        function="order-intake",
        client=client,
        outcome=after_gaps(limit_s, harm, unaffected=unaffected),
        time_out_ms=time_out_ms,
        json_lines=name.endswith("-json"),
    )
    why = (
        f"Sends after gaps above {limit_s} s are harmed ({harm}), {unaffected:.0%} of them unaffected; no send after a "
        "shorter gap of the same workers is, on three days and with nothing else wrong."
    )
    return DiagnosisCase(
        name=f"serverless/{name}",
        family=FAMILY,
        form=form,
        why=why,
        expected={"idle_disconnect": PRESENT},
        write=partial(write_capture, capture=Capture(fleets=(fleet,), form=form)),
    )


def cases() -> tuple[DiagnosisCase, ...]:
    """Every case of serverless workers: the incident, its twins, and long-running services beside them."""
    return (*map(_incident, INCIDENTS), *serverless_twins.cases(), *serverless_services.cases())
