"""Events around a failure are counted as by a comparison of every pair, but not in the time of one."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from leadsman.catalogue import every_mode
from leadsman.modes.idle_disconnect.failures import count_within
from leadsman.pipeline.detector_sql import run_steps
from leadsman.pipeline.spark.embedded import embedded_session
from leadsman.pipeline.spark.pyspark_startup import create_frame

BEGAN = datetime(2026, 11, 1, 3, 0, 0, 123457, tzinfo=UTC)
BEFORE, AFTER = 5, 2.5
HALF_SECOND = 500_000


def lines(random: Random) -> list[tuple[str, int, str]]:
    """Events of two writers: microseconds, many exactly at a bound or one beside it, and names."""
    return [
        (
            random.choice("ab"),
            random.randrange(60) * HALF_SECOND + random.choice((-1, 0, 0, 1)),
            random.choice(("error", "other")),
        )
        for _ in range(200)
    ]


def counted(spark: SparkSession, events: list[tuple[str, int, str]]) -> dict[int, int]:
    writers, microseconds, names = zip(*events, strict=True)
    table = pa.table(
        {
            "capture": ["c"] * len(events),
            "number": range(len(events)),
            "subject": writers,
            "at": pa.array([BEGAN + timedelta(microseconds=each) for each in microseconds], pa.timestamp("us", "UTC")),
            "name": names,
        }
    )
    near = count_within("name = 'error'", before=BEFORE, after=AFTER)
    steps = {
        "timed": "SELECT *, CAST(at AS DOUBLE) AS second FROM events",
        "near": f"SELECT number, {near} AS found FROM timed",
    }
    rows = run_steps({"events": create_frame(spark, table)}, steps).collect()
    return {row["number"]: row["found"] for row in rows}


def by_pairs(events: list[tuple[str, int, str]]) -> dict[int, int]:
    second = 2 * HALF_SECOND
    return {
        number: sum(
            other == writer and name == "error" and -BEFORE * second <= later - at <= AFTER * second
            for other, later, name in events
        )
        for number, (writer, at, _) in enumerate(events)
    }


@pytest.mark.parametrize("seed", range(3))
def test_events_around_each_are_counted_as_by_pairs(spark: SparkSession, seed: int):
    events = lines(Random(seed))
    assert counted(spark, events) == by_pairs(events)
    with embedded_session() as embedded:
        assert counted(embedded, events) == by_pairs(events)


def test_no_detector_has_a_frame_that_slides_over_seconds():
    """Spark computes such a frame anew for each event: 80,000 errors of one client took two minutes."""
    sliding = re.compile(r"RANGE BETWEEN (?!UNBOUNDED)")
    texts = [path for mode in every_mode() for path in Path(mode.folder).glob("*.py")]
    assert texts
    assert not [path.name for path in texts if sliding.search(path.read_text())]
