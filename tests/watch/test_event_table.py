"""The Delta table of events: what is current in it is what memory has, also after batches that came twice."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leadsman.pipeline.events import ARROW_SCHEMA
from leadsman.pipeline.spark.session import SessionOptions, session
from leadsman.watch.event_store import CurrentEvents, EventBatch, EventTable
from leadsman.watch.state import delta_tables
from leadsman.watch.stream_changes import FACTS, SUMMARY

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NOON = datetime(2026, 2, 16, 12, tzinfo=UTC)
HORIZON = datetime(2026, 2, 17, tzinfo=UTC)


def batch(number: int, *lines: int, stream: str = "app.log", version: int = 1, kind: str = FACTS) -> EventBatch:
    return EventBatch("logs", stream, version, number, kind, events(stream, lines))


def events(stream: str, lines: Sequence[int]) -> pa.Table:
    row = {**dict.fromkeys(ARROW_SCHEMA.names), "capture": "logs", "at": NOON, "name": "error", "file": stream}
    rows = [{**row, "line": line, "labels": {"type": "TimeoutException"}} for line in lines]
    return pa.Table.from_pylist(rows, schema=ARROW_SCHEMA)


def lines_of(table: EventTable) -> list[tuple[str, int]]:
    current = CurrentEvents()
    current.apply(table.read())
    return sorted((row["file"], row["line"]) for row in current.table().to_pylist())


@pytest.fixture
def table(tmp_path: Path) -> EventTable:
    return EventTable(tmp_path / "events")


def test_a_batch_that_is_appended_again_is_there_once(table: EventTable):
    table.append([batch(1, 1, 2)], query="watch", batch=0)
    table.append([batch(2, 3)], query="watch", batch=1)
    for number in (1, 0):
        table.append([batch(number + 1, 1, 2, 3)], query="watch", batch=number)

    assert lines_of(table) == [("app.log", 1), ("app.log", 2), ("app.log", 3)]


def test_a_new_query_begins_again_with_batch_0(table: EventTable):
    table.append([batch(1, 1)], query="first", batch=0)
    table.append([batch(2, 2)], query="second", batch=0)

    assert lines_of(table) == [("app.log", 1), ("app.log", 2)]


def test_a_table_that_does_not_exist_holds_nothing(table: EventTable):
    table.append([batch(1)], query="watch", batch=0)
    table.expire({"logs": HORIZON})

    assert table.read() == []
    assert not table.path.exists()


STEPS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.integers(0, 2), st.integers(1, 2)), max_size=12)


@settings(max_examples=25)
@given(STEPS)
def test_what_is_current_in_the_table_is_what_memory_has(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int, int]]
):
    assert_same_as_memory(tmp_path_factory.mktemp("table") / "events", steps)


@pytest.mark.long  # more of the same examples
@settings(max_examples=300)
@given(STEPS)
def test_after_any_steps_what_is_current_in_the_table_is_what_memory_has(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int, int]]
):
    assert_same_as_memory(tmp_path_factory.mktemp("table") / "events", steps)


def assert_same_as_memory(folder: Path, steps: list[tuple[str, int, int, int]]) -> None:
    """An offset of a stream has a summary, and perhaps facts; versions of a stream grow. Each batch comes twice."""
    table, current = EventTable(folder), CurrentEvents()
    version: dict[str, int] = {}
    for number, (stream, more, facts, summary) in enumerate(steps, start=1):
        version[stream] = version.get(stream, 1) + more
        begin = 10 * number
        changes = [
            batch(number, *range(begin, begin + facts), stream=stream, version=version[stream]),
            batch(number, *range(-begin, summary - begin), stream=stream, version=version[stream], kind=SUMMARY),
        ]
        for _ in range(2):
            table.append(changes, query="watch", batch=number)
        current.apply(changes)

    expected = sorted((row["file"], row["line"]) for row in current.table().to_pylist())
    assert lines_of(table) == expected
    table.expire({})
    assert lines_of(table) == expected


def test_a_dropped_stream_leaves_the_table_and_files_that_it_replaced_stay_for_an_hour(table: EventTable):
    table.append([batch(1, 1), batch(1, 2, stream="gone.log")], query="watch", batch=0)
    before = set(table.path.glob("*.parquet"))

    table.expire({}, [("logs", "gone.log")])

    assert lines_of(table) == [("app.log", 1)]
    assert before <= set(table.path.glob("*.parquet"))


def test_an_expired_table_still_knows_which_batches_it_has(table: EventTable):
    table.append([batch(1, 1)], query="watch", batch=0)
    table.expire({"logs": HORIZON})
    table.append([batch(1, 1)], query="watch", batch=0)

    assert lines_of(table) == []


@pytest.mark.spark
def test_spark_reads_the_table_as_it_was_written(table: EventTable):
    for number in range(3):
        table.append([batch(number, number)], query="watch", batch=number)
    table.expire({})
    table.append([batch(4, 4)], query="watch", batch=4)

    with session(SessionOptions(delta=True)) as spark:
        rows: list[Any] = spark.read.format("delta").load(str(table.path)).orderBy("line").collect()

    assert [(row["line"], row["at"].isoformat(), row["labels"]) for row in rows] == [
        (line, "2026-02-16T12:00:00", {"type": "TimeoutException"}) for line in (0, 1, 2, 4)
    ]


def test_old_commits_are_removed_a_day_after_a_checkpoint(table: EventTable):
    table.append([batch(1, 1)], query="watch", batch=0)
    (first,) = (table.path / "_delta_log").glob("*.json")
    (metadata,) = (action["metaData"] for line in first.open() if "metaData" in (action := json.loads(line)))

    assert metadata["configuration"] == delta_tables.PROPERTIES
