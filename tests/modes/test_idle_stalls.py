"""What is no idle gap: the time for which a request waits; and what is no use: a connection that is closed."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from leadsman.model import Diagnosis

START = datetime(2024, 4, 2, 6, 0)  # noqa: DTZ001 - a log without a zone
CLIENT = "[kafka-producer-network-thread | p] org.apache.kafka.clients.NetworkClient - [Producer clientId=p]"
USES_BETWEEN = 40
TIMEOUT = timedelta(seconds=30)


def _log(
    every: timedelta, idle: timedelta, closed: tuple[str, timedelta] | None = None, api: str = "PRODUCE"
) -> Iterator[str]:
    """Yield uses `every` few seconds, and twelve requests that time out after 30 s, each after `idle` of silence.

    `closed`: the line of a connection that is closed, and how long after the last use.
    """
    at = START
    for _ in range(12):
        for _ in range(USES_BETWEEN):
            at += every
            yield _line(at, "INFO [main] com.example.Pump - published event to clicks-1@7 in 9 ms")
        if closed:
            yield _line(at + closed[1], f"INFO {CLIENT} {closed[0]}")
        at += idle + TIMEOUT
        yield _line(at, f"INFO {CLIENT} Disconnecting from node 2 due to request timeout.")
        yield _line(
            at,
            f"INFO {CLIENT} Cancelled in-flight {api} request with correlation id 5 due to node 2 being disconnected "
            "(elapsed time since creation: 30188ms, elapsed time since send: 30059ms, throttle time: 0ms, "
            "request timeout: 30000ms)",
        )


def _line(at: datetime, text: str) -> str:
    return f"{at.isoformat(sep=' ', timespec='milliseconds').replace('.', ',')} {text}\n"


@pytest.fixture
def verdict(tmp_path: Path, diagnosed: Callable[..., list[Diagnosis]]) -> Callable[..., Diagnosis]:
    def run(idle: timedelta, closed: tuple[str, timedelta] | None = None, api: str = "PRODUCE") -> Diagnosis:
        (tmp_path / "pump.log").write_text("".join(_log(timedelta(seconds=4), idle, closed, api)))
        (diagnosis,) = diagnosed([tmp_path], ["idle_disconnect"])
        return diagnosis

    return run


@pytest.mark.spark
def test_time_outs_of_a_busy_worker_follow_no_idle_gap(verdict: Callable[..., Diagnosis]) -> None:
    diagnosis = verdict(timedelta(seconds=1))

    assert diagnosis.verdicts["idle_disconnect"] == "ABSENT"


@pytest.mark.spark
def test_time_outs_after_a_long_idle_time_follow_it_though_nothing_is_logged_at_the_send(
    verdict: Callable[..., Diagnosis],
) -> None:
    diagnosis = verdict(timedelta(seconds=700))

    assert diagnosis.verdicts["idle_disconnect"] == "PRESENT"


@pytest.mark.spark
def test_a_first_request_without_an_answer_proves_no_idle_connection(verdict: Callable[..., Diagnosis]) -> None:
    diagnosis = verdict(timedelta(seconds=700), api="API_VERSIONS")

    assert diagnosis.verdicts["idle_disconnect"] == "ABSENT"


@pytest.mark.spark
def test_a_network_that_drops_large_packets_is_no_idle_disconnect(diagnosed_recordings) -> None:
    (diagnosis,) = [each for path, each in diagnosed_recordings.items() if path.endswith("/near-miss-black-hole")]

    reasons = diagnosis.absent_reasons["idle_disconnect"]

    assert any(reason.startswith("A network fault made brokers unreachable") for reason in reasons)


def figures_of(diagnosis: Diagnosis) -> dict[str, float]:
    (finding,) = diagnosis.findings
    return {name: value for name, value in finding.figures.items() if isinstance(value, float)}


@pytest.mark.spark
def test_the_time_for_which_a_request_waits_is_no_part_of_the_idle_time(verdict: Callable[..., Diagnosis]) -> None:
    figures = figures_of(verdict(timedelta(seconds=322)))

    assert figures["failures"] == figures["after_gap"] == 12
    assert 321 <= figures["limit_high"] <= 322
    assert 321 <= figures["longest_gap"] <= 322


@pytest.mark.spark
@pytest.mark.parametrize("seconds", [300, 394])
def test_a_bootstrap_connection_that_is_closed_ends_no_idle_gap(
    seconds: int, verdict: Callable[..., Diagnosis]
) -> None:
    figures = figures_of(verdict(timedelta(seconds=400), ("Node -1 disconnected.", timedelta(seconds=seconds))))

    assert figures["after_gap"] == 12
    assert 399 <= figures["limit_high"] <= 400
    assert figures["limit_low"] == 4


@pytest.mark.spark
def test_a_connection_that_is_closed_while_idle_was_not_used_then(verdict: Callable[..., Diagnosis]) -> None:
    figures = figures_of(verdict(timedelta(seconds=900), ("Node 2 disconnected.", timedelta(seconds=540))))

    assert figures["limit_low"] == 4
