"""A request that waits for its time-out leaves a silence in the log that is no idle gap."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from leadsman.model import Diagnosis

START = datetime(2024, 4, 2, 6, 0)  # noqa: DTZ001 - a log without a zone
CLIENT = "[kafka-producer-network-thread | p] org.apache.kafka.clients.NetworkClient - [Producer clientId=p]"
USES_BETWEEN = 40
TIMEOUT = timedelta(seconds=30)


def _log(every: timedelta, idle: timedelta) -> Iterator[str]:
    """Yield uses `every` few seconds, and twelve requests that time out after 30 s, each after `idle` of silence."""
    at = START
    for _ in range(12):
        for _ in range(USES_BETWEEN):
            at += every
            yield _line(at, "INFO [main] com.example.Pump - published event to clicks-1@7 in 9 ms")
        at += idle + TIMEOUT
        yield _line(at, f"INFO {CLIENT} Disconnecting from node 2 due to request timeout.")
        yield _line(
            at,
            f"INFO {CLIENT} Cancelled in-flight PRODUCE request with correlation id 5 due to node 2 being disconnected "
            "(elapsed time since creation: 30188ms, elapsed time since send: 30059ms, throttle time: 0ms, "
            "request timeout: 30000ms)",
        )


def _line(at: datetime, text: str) -> str:
    return f"{at.isoformat(sep=' ', timespec='milliseconds').replace('.', ',')} {text}\n"


@pytest.fixture
def verdict(tmp_path: Path, diagnosed: Callable[..., list[Diagnosis]]) -> Callable[[timedelta], Diagnosis]:
    def run(idle: timedelta) -> Diagnosis:
        (tmp_path / "pump.log").write_text("".join(_log(timedelta(seconds=4), idle)))
        (diagnosis,) = diagnosed([tmp_path], ["idle_disconnect"])
        return diagnosis

    return run


@pytest.mark.spark
def test_time_outs_of_a_busy_worker_follow_no_idle_gap(verdict: Callable[[timedelta], Diagnosis]) -> None:
    diagnosis = verdict(timedelta(seconds=1))

    assert diagnosis.verdicts["idle_disconnect"] == "ABSENT"


@pytest.mark.spark
def test_time_outs_after_a_long_idle_time_follow_it_though_nothing_is_logged_at_the_send(
    verdict: Callable[[timedelta], Diagnosis],
) -> None:
    diagnosis = verdict(timedelta(seconds=700))

    assert diagnosis.verdicts["idle_disconnect"] == "PRESENT"
