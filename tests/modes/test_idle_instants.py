"""Who failed together is found slot by slot of time, and exactly as by looking at every pair."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from leadsman.modes.idle_disconnect.instants import steps
from leadsman.pipeline.lean import frame_of
from leadsman.pipeline.shapes import table

WITHIN = 15.0
BEGAN = datetime(2026, 11, 1, tzinfo=UTC)


class Failure(NamedTuple):
    subject: str
    at: float
    quiet: str


def together(failures: list[Failure]) -> list[bool]:
    """Say of each failure whether it was at once with others, by every pair of failures; no instant is common here."""

    def beside(one: Failure, struck: list[Failure]) -> bool:
        return len({each.subject for each in struck if abs(each.at - one.at) <= WITHIN} - {one.subject}) >= 2

    busy = [each for each in failures if each.quiet == "contradicted"]
    hit = [each for each in failures if beside(each, busy)]
    return [each in hit or beside(each, hit) for each in failures]


def frame(spark: SparkSession, failures: list[Failure]) -> pa.Table:
    rows = [
        {
            "capture": "c",
            "subject": each.subject,
            "failed_at": BEGAN + timedelta(seconds=each.at),
            "failed_until": BEGAN + timedelta(seconds=each.at),
            "gap_since": BEGAN + timedelta(seconds=each.at - 1),
            "quiet": each.quiet,
            "quiet_seconds": 1.0,
            "other_cause": False,
        }
        for each in failures
    ]
    kinds = {str: pa.string(), datetime: pa.timestamp("us", tz="UTC"), float: pa.float64(), bool: pa.bool_()}
    return pa.Table.from_pylist(rows, pa.schema([pa.field(name, kinds[type(told)]) for name, told in rows[0].items()]))


@pytest.mark.parametrize("seed", range(3))
def test_failures_together_are_those_that_every_pair_tells(spark: SparkSession, seed: int) -> None:
    random = Random(seed)
    failures = [
        Failure(
            f"w{random.randrange(12)}",
            round(random.choice((0, 300, 600, 900)) + random.uniform(0, 90), 1),
            random.choice(("observed", "contradicted", "not visible")),
        )
        for _ in range(90)
    ]
    lost = frame(spark, failures)
    nothing = pa.table({"capture": pa.array([], pa.string()), "at": pa.array([], pa.timestamp("us", tz="UTC")),
                        "until": pa.array([], pa.timestamp("us", tz="UTC"))})  # fmt: skip
    found = table(
        {"lost": frame_of(spark, lost), "gaps": frame_of(spark, nothing)},
        steps(share=0.5, subjects=3, burst_seconds=WITHIN),
    )

    told = {(row["subject"], row["failed_at"].timestamp(), row["quiet"]): row["at_once"] for row in found.collect()}

    expected = {
        (each.subject, (BEGAN + timedelta(seconds=each.at)).timestamp(), each.quiet): said
        for each, said in zip(failures, together(failures), strict=True)
    }
    assert told == expected
    assert set(expected.values()) == {True, False}
