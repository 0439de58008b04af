"""Events go from task to task as parcels, and come out as they went in."""

import re
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from leadsman.catalogue import Mode
from leadsman.pipeline import memory, tasks
from leadsman.pipeline.inputs import events_of, parcels_of
from leadsman.pipeline.parcels import PARCEL, opened, parcels, unpacked
from leadsman.pipeline.question import Input, Question, look, read_small

PATHS = [str(Mode("idle_disconnect").folder / "recorded" / name) for name in ("broken-java", "healthy-java")]
SOURCES = Path(tasks.__file__).parent.parent
A_LIST_OVER_A_WINDOW = re.compile(r"collect_(?:list|set)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\s*OVER")


def test_events_come_out_as_they_went_in():
    events = read_small(look(PATHS)).events
    assert events is not None

    made = pa.Table.from_batches(list(parcels(events.combine_chunks().to_batches())), schema=PARCEL)

    assert {str(capture) for capture in made.column("capture")} == set(PATHS)
    assert sum(count.as_py() or 0 for count in made.column("count")) == events.num_rows
    assert unpacked(made).sort_by("capture") == events.sort_by("capture")


def test_nothing_is_nothing():
    assert unpacked(PARCEL.empty_table()).num_rows == 0


@pytest.mark.parametrize("source", [read_small(look(PATHS)), look(PATHS)], ids=["of this process", "of tasks"])
def test_spark_sql_reads_parcels_as_rows(spark: SparkSession, source: Input):
    rows = sorted(map(str, opened(parcels_of(spark, source)).collect()))

    assert rows == sorted(map(str, events_of(spark, source).collect()))


def test_a_worker_without_memory_leaves_a_capture_to_spark(monkeypatch: pytest.MonkeyPatch):
    source = read_small(look(PATHS[:1]))
    events = source.events
    assert events is not None
    monkeypatch.setattr(tasks, "available_bytes", lambda: events.num_rows * tasks.EVENT_BYTES - 1)

    (told,) = tasks._told(PATHS[:1], events, tasks.errand_of(source, Question([])))

    assert str(told.column("failed")[0]).startswith("MemoryError: 352 events take up to 2 MB")


def test_memory_is_what_the_machine_and_the_container_leave(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    machine, limit, taken = (tmp_path / name for name in ("meminfo", "max", "current"))
    monkeypatch.setattr(memory, "MACHINE", machine)
    monkeypatch.setattr(memory, "GROUPS", ((str(limit), str(taken)),))
    assert memory.available_bytes() is None

    machine.write_text("MemTotal:       24684028 kB\nMemAvailable:       4096 kB\n")
    assert memory.available_bytes() == 4 << 20

    taken.write_text("1000\n")
    limit.write_text("max\n")
    assert memory.available_bytes() == 4 << 20
    limit.write_text("5000\n")
    assert memory.available_bytes() == 4000


def test_no_detector_lists_what_lies_around_each_event():
    """Such a list grows with the square of a storm: 100,000 errors of one client took minutes."""
    assert A_LIST_OVER_A_WINDOW.search("collect_list(IF(name IN ('a'), at, NULL)) OVER (w)")
    listing = [path.name for path in SOURCES.rglob("*.py") if A_LIST_OVER_A_WINDOW.search(path.read_text())]
    assert listing == []
