"""Packed events are unpacked unchanged."""

import re
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from leadsman.catalogue import Mode
from leadsman.pipeline import diagnose_in_tasks
from leadsman.pipeline.request import DiagnosisInput, DiagnosisRequest, find_input, read_small_input
from leadsman.pipeline.spark import memory
from leadsman.pipeline.spark.event_frames import event_frame, packed_event_frame
from leadsman.pipeline.spark.packed_events import PACKED_EVENTS, pack, unpack, unpack_frame

PATHS = [str(Mode("idle_disconnect").folder / "recorded" / name) for name in ("broken-java", "healthy-java")]
SOURCES = Path(diagnose_in_tasks.__file__).parent.parent
A_LIST_OVER_A_WINDOW = re.compile(r"collect_(?:list|set)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\s*OVER")


def test_events_are_unpacked_unchanged():
    events = read_small_input(find_input(PATHS)).events
    assert events is not None

    made = pa.Table.from_batches(list(pack(events.combine_chunks().to_batches())), schema=PACKED_EVENTS)

    assert {str(capture) for capture in made.column("capture")} == set(PATHS)
    assert sum(count.as_py() or 0 for count in made.column("count")) == events.num_rows
    assert unpack(made).sort_by("capture") == events.sort_by("capture")


def test_no_packed_events_are_no_events():
    assert unpack(PACKED_EVENTS.empty_table()).num_rows == 0


@pytest.mark.parametrize(
    "inputs",
    [read_small_input(find_input(PATHS)), find_input(PATHS)],
    ids=["read in the driver", "read in tasks"],
)
def test_spark_sql_reads_packed_events_as_rows(spark: SparkSession, inputs: DiagnosisInput):
    rows = sorted(map(str, unpack_frame(packed_event_frame(spark, inputs)).collect()))

    assert rows == sorted(map(str, event_frame(spark, inputs).collect()))


def test_rare_events_are_selected_before_they_become_rows(spark: SparkSession):
    packed, selected = packed_event_frame(spark, find_input(PATHS)), "name IN ('file.read', 'setting')"

    rows = sorted(map(str, unpack_frame(packed, ("setting", "file.read")).collect()))

    assert rows
    assert rows == sorted(map(str, unpack_frame(packed).where(selected).collect()))


def test_a_worker_without_memory_leaves_a_capture_to_spark(monkeypatch: pytest.MonkeyPatch):
    inputs = read_small_input(find_input(PATHS[:1]))
    events = inputs.events
    assert events is not None
    monkeypatch.setattr(
        diagnose_in_tasks, "available_bytes", lambda: events.num_rows * diagnose_in_tasks.EVENT_BYTES - 1
    )

    (result,) = diagnose_in_tasks._run_task(
        PATHS[:1], events, diagnose_in_tasks.task_request(inputs, DiagnosisRequest([]))
    )

    assert str(result.column("failed")[0]).startswith("MemoryError: 352 events take up to ")


def test_available_memory_is_the_lower_of_machine_and_container(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    machine, limit, taken = (tmp_path / name for name in ("meminfo", "max", "current"))
    monkeypatch.setattr(memory, "MACHINE", machine)
    monkeypatch.setattr(memory, "CGROUPS", ((str(limit), str(taken)),))
    assert memory.available_bytes() is None

    machine.write_text("MemTotal:       24684028 kB\nMemAvailable:       4096 kB\n")
    assert memory.available_bytes() == 4 << 20

    taken.write_text("1000\n")
    limit.write_text("max\n")
    assert memory.available_bytes() == 4 << 20
    limit.write_text("5000\n")
    assert memory.available_bytes() == 4000


def test_no_detector_collects_a_list_over_a_window():
    """Such a list grows with the square of a storm: 100,000 errors of one client took minutes."""
    assert A_LIST_OVER_A_WINDOW.search("collect_list(IF(name IN ('a'), at, NULL)) OVER (w)")
    listing = [path.name for path in SOURCES.rglob("*.py") if A_LIST_OVER_A_WINDOW.search(path.read_text())]
    assert listing == []
