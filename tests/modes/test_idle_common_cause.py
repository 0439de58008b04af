"""The search for nearby failures by slots of time gives the same result as a comparison of every pair."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from leadsman.modes.idle_disconnect.common_cause import steps
from leadsman.pipeline.detector_sql import run_steps
from leadsman.pipeline.spark.pyspark_startup import create_frame

WITHIN = 15.0
BEGAN = datetime(2026, 11, 1, tzinfo=UTC)


class Failure(NamedTuple):
    subject: str
    at: float
    idle: str


def together(failures: list[Failure]) -> list[bool]:
    """Return for each failure whether others were near, by every pair of failures; no instant is common here."""

    def beside(one: Failure, affected: list[Failure]) -> bool:
        return len({each.subject for each in affected if abs(each.at - one.at) <= WITHIN} - {one.subject}) >= 2

    busy = [each for each in failures if each.idle == "contradicted"]
    affected_failures = [each for each in failures if beside(each, busy)]
    return [each in affected_failures or beside(each, affected_failures) for each in failures]


def frame(failures_by_capture: dict[str, list[Failure]]) -> pa.Table:
    rows = [
        {
            "capture": capture,
            "subject": each.subject,
            "failed_at": BEGAN + timedelta(seconds=each.at),
            "failed_until": BEGAN + timedelta(seconds=each.at),
            "gap_since": BEGAN + timedelta(seconds=each.at - 1),
            "idle": each.idle,
            "idle_seconds": 1.0,
            "other_cause": False,
        }
        for capture, failures in failures_by_capture.items()
        for each in failures
    ]
    kinds = {str: pa.string(), datetime: pa.timestamp("us", tz="UTC"), float: pa.float64(), bool: pa.bool_()}
    return pa.Table.from_pylist(
        rows, pa.schema([pa.field(name, kinds[type(found)]) for name, found in rows[0].items()])
    )


def failures_of(random: Random) -> list[Failure]:
    return [
        Failure(
            f"w{random.randrange(12)}",
            round(random.choice((0, 300, 600, 900)) + random.uniform(0, 90), 1),
            random.choice(("observed", "contradicted", "not visible")),
        )
        for _ in range(90)
    ]


@pytest.fixture(scope="module")
def failures() -> dict[str, list[Failure]]:
    """Failures of three captures, which one query takes: most of a query's time is that of its plan."""
    return {str(seed): failures_of(Random(seed)) for seed in range(3)}


@pytest.fixture(scope="module")
def found(spark: SparkSession, failures: dict[str, list[Failure]]) -> dict[tuple[str, str, float, str], bool]:
    """Whether each failure has a common cause, by the query."""
    nothing = pa.table({"capture": pa.array([], pa.string()), "at": pa.array([], pa.timestamp("us", tz="UTC")),
                        "until": pa.array([], pa.timestamp("us", tz="UTC"))})  # fmt: skip
    result = run_steps(
        {"lost_requests": create_frame(spark, frame(failures)), "gaps": create_frame(spark, nothing)},
        steps(share=0.5, subjects=3, burst_seconds=WITHIN),
    )
    return {
        (row["capture"], row["subject"], row["failed_at"].timestamp(), row["idle"]): row["common_cause"]
        for row in result.collect()
    }


@pytest.mark.spark
@pytest.mark.parametrize("capture", ["0", "1", "2"])
def test_nearby_failures_match_a_comparison_of_every_pair(
    capture: str,
    failures: dict[str, list[Failure]],
    found: dict[tuple[str, str, float, str], bool],
) -> None:
    of_capture = {key: common for key, common in found.items() if key[0] == capture}

    expected = {
        (capture, each.subject, (BEGAN + timedelta(seconds=each.at)).timestamp(), each.idle): common
        for each, common in zip(failures[capture], together(failures[capture]), strict=True)
    }
    assert of_capture == expected
    assert set(expected.values()) == {True, False}
