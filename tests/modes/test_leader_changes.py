"""The leaders of partitions over time, however many states of each there are."""

import random
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

import pyarrow as pa
import pytest

from leadsman.modes.leaderless_partition.leaders import LED_STEPS
from leadsman.pipeline.detector_sql import run_steps
from leadsman.pipeline.spark.embedded import embedded_session, frame_from_table

START = datetime(2026, 11, 21, 12, tzinfo=UTC)
TEXTS = ("capture", "file", "source", "leader", "topic", "partition", "replicas")
STATE = pa.schema({name: pa.string() for name in TEXTS} | {"at": pa.timestamp("us", "UTC"), "line": pa.int64()})


def states(seed: int) -> list[dict[str, Any]]:
    """Return states of a few partitions: some never change, some have one state, some have no time."""
    dice = random.Random(seed)
    rows = []
    for line in range(dice.randrange(1, 60)):
        partition = str(dice.randrange(6))
        changes = partition in "012" and dice.random() < 0.3
        rows.append(
            {
                "capture": dice.choice("ab"),
                "at": None if dice.random() < 0.1 else START + timedelta(seconds=dice.randrange(20)),
                "file": "topics.txt",
                "line": line,
                "source": dice.choice(("broker", "listing")) if partition in "01" else "listing",
                "leader": dice.choice(("2", "3", "none")) if changes else "1",
                "topic": "orders",
                "partition": partition,
                "replicas": dice.choice(("1,2,3", None)) if partition == "0" else "1,2,3",
            }
        )
    return rows


def expected(rows: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    """Return the first leader of each partition and each change, by going through the states in their order."""
    found = {(*_row(each), None) for each in rows if each["at"] is None and each["leader"] == "none"}
    timed = [each for each in rows if each["at"] is not None]
    of_partition = lambda each: (each["capture"], each["partition"])  # noqa: E731 - used twice, here
    timed.sort(key=lambda each: (*of_partition(each), each["at"], each["file"], each["line"]))
    for _, group in groupby(timed, of_partition):
        before = None
        for each in group:
            if each["leader"] != before:
                found.add((*_row(each), before))
            before = each["leader"]
    return found


def _row(state: dict[str, Any]) -> tuple[Any, ...]:
    at = state["at"].replace(tzinfo=None) if state["at"] else None
    return (state["capture"], at, state["source"], state["partition"], state["leader"], state["replicas"])


@pytest.mark.parametrize("seed", range(20))
def test_the_first_leader_and_each_change_are_found(seed: int) -> None:
    rows = states(seed)

    with embedded_session():
        led = run_steps({"partition_states": frame_from_table(pa.Table.from_pylist(rows, schema=STATE))}, LED_STEPS)
        found = [(*_row(row.asDict()), row["before"]) for row in led.collect()]

    assert len(set(found)) == len(found)
    assert set(found) == expected(rows)
