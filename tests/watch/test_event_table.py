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


def batch(query_offset: int, *lines: int, stream: str = "app.log", begun_in: int = 1, kind: str = FACTS) -> EventBatch:
    return EventBatch("logs", stream, begun_in, query_offset, kind, events(stream, lines))


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
    table.append([batch(1, 1, 2)], query_id="watch", batch_id=0)
    table.append([batch(2, 3)], query_id="watch", batch_id=1)
    for batch_id in (1, 0):
        table.append([batch(batch_id + 1, 1, 2, 3)], query_id="watch", batch_id=batch_id)

    assert lines_of(table) == [("app.log", 1), ("app.log", 2), ("app.log", 3)]


def test_a_new_query_begins_again_with_batch_0(table: EventTable):
    table.append([batch(1, 1)], query_id="first", batch_id=0)
    table.append([batch(2, 2)], query_id="second", batch_id=0)

    assert lines_of(table) == [("app.log", 1), ("app.log", 2)]


def test_a_table_that_does_not_exist_holds_nothing(table: EventTable):
    table.append([batch(1)], query_id="watch", batch_id=0)
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
    """A query offset of a stream has a summary, perhaps facts; the reading may begin again. Each batch comes twice."""
    table, current = EventTable(folder), CurrentEvents()
    begun_in: dict[str, int] = {}
    for query_offset, (stream, more, facts, summary) in enumerate(steps, start=1):
        begun_in[stream] = begun_in.get(stream, 1) + more
        begin = 10 * query_offset
        changes = [
            batch(query_offset, *range(begin, begin + facts), stream=stream, begun_in=begun_in[stream]),
            batch(
                query_offset, *range(-begin, summary - begin), stream=stream, begun_in=begun_in[stream], kind=SUMMARY
            ),
        ]
        for _ in range(2):
            table.append(changes, query_id="watch", batch_id=query_offset)
        current.apply(changes)

    expected = sorted((row["file"], row["line"]) for row in current.table().to_pylist())
    assert lines_of(table) == expected
    table.expire({})
    assert lines_of(table) == expected


def test_a_dropped_stream_leaves_the_table_and_files_that_it_replaced_stay_for_an_hour(table: EventTable):
    table.append([batch(1, 1), batch(1, 2, stream="gone.log")], query_id="watch", batch_id=0)
    before = set(table.path.glob("*.parquet"))

    table.expire({}, [("logs", "gone.log")])

    assert lines_of(table) == [("app.log", 1)]
    assert before <= set(table.path.glob("*.parquet"))


def test_an_expired_table_still_knows_which_batches_it_has(table: EventTable):
    table.append([batch(1, 1)], query_id="watch", batch_id=0)
    table.expire({"logs": HORIZON})
    table.append([batch(1, 1)], query_id="watch", batch_id=0)

    assert lines_of(table) == []


@pytest.mark.spark
def test_spark_reads_the_table_as_it_was_written(table: EventTable):
    for query_offset in range(3):
        table.append([batch(query_offset, query_offset)], query_id="watch", batch_id=query_offset)
    table.expire({})
    table.append([batch(4, 4)], query_id="watch", batch_id=4)

    with session(SessionOptions(delta=True)) as spark:
        rows: list[Any] = spark.read.format("delta").load(str(table.path)).orderBy("line").collect()

    assert [(row["line"], row["at"].isoformat(), row["labels"]) for row in rows] == [
        (line, "2026-02-16T12:00:00", {"type": "TimeoutException"}) for line in (0, 1, 2, 4)
    ]


def test_old_commits_are_removed_a_day_after_a_checkpoint(table: EventTable):
    table.append([batch(1, 1)], query_id="watch", batch_id=0)
    (first,) = (table.path / "_delta_log").glob("*.json")
    (metadata,) = (action["metaData"] for line in first.open() if "metaData" in (action := json.loads(line)))

    assert metadata["configuration"] == delta_tables.PROPERTIES
