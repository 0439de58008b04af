"""Captures diagnosed in tasks, by the engine embedded there, are diagnosed as Spark's own SQL does it."""

import logging
import math
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from tempfile import gettempdir

import psutil
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from leadsman.catalogue import every_mode, modes_named
from leadsman.model import Diagnosis
from leadsman.pipeline import diagnose as diagnose_module
from leadsman.pipeline import diagnose_in_session as diagnose_in_session_module
from leadsman.pipeline import diagnose_in_tasks
from leadsman.pipeline.diagnose import diagnose
from leadsman.pipeline.diagnose_in_session import diagnose_in_session
from leadsman.pipeline.request import DiagnosisInput, DiagnosisRequest, find_input, read_small_input
from leadsman.pipeline.spark import embedded
from leadsman.run_folder import memory_folder

FEW = [folder for mode in every_mode() for kind in ("broken", "near-miss") for folder in mode.recordings()
       if folder.name.startswith(kind)][::10]  # fmt: skip
EVERY = [folder for mode in every_mode() for folder in mode.recordings()]
LEFT = "left to Spark SQL"
UNTRIGGERED = ["stale_neighbour"]
"""No event of the first capture triggers this mode: Spark SQL finds conditions and errors, and runs no detector."""


def request_for(names: Sequence[str] = ()) -> DiagnosisRequest:
    return DiagnosisRequest(modes=modes_named(names), points=True)


class Figure(float):
    """A figure that equals another one but for its last digits, in which the two engines differ."""

    __hash__ = None  # type: ignore[assignment]  # what equals only nearly has no hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and math.isclose(self, other, rel_tol=1e-4)


def comparable(diagnosis: Diagnosis) -> tuple[object, ...]:
    """Return what must not depend on the engine: all but last digits of figures, and the order of points."""
    findings = [
        (
            each.mode,
            each.verdict,
            each.title,
            each.summary,
            each.chain,
            each.alternatives,
            each.changes,
            {name: Figure(value) if isinstance(value, float) else value for name, value in each.figures.items()},
            sorted((point.subject, point.outcome, str(point.since), str(point.at)) for point in each.points),
            each.matrix,
        )
        for each in diagnosis.findings
    ]
    return (
        diagnosis.verdicts,
        findings,
        diagnosis.conditions,
        diagnosis.unexplained,
        diagnosis.benign,
        diagnosis.notes,
    )


def source_of(folders: Sequence[Path]) -> DiagnosisInput:
    """Events that are read in this process."""
    return read_small_input(find_input([str(folder) for folder in folders]))


def compared(diagnoses: Iterable[Diagnosis]) -> list[tuple[object, ...]]:
    return [comparable(each) for each in diagnoses]


def in_tasks(spark: SparkSession, inputs: DiagnosisInput, names: Sequence[str] = ()) -> list[Diagnosis]:
    """Diagnose in tasks; fail where these leave anything to Spark SQL."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(diagnose_module, "_diagnose_by_spark_sql", fail_as_left)
        return diagnose(spark, inputs, request_for(names))


def fail_as_left(*_: object) -> list[Diagnosis]:
    raise AssertionError(LEFT)


@pytest.fixture(scope="module")
def few(spark: SparkSession) -> list[Diagnosis]:
    """What tasks find in the few captures."""
    return in_tasks(spark, source_of(FEW))


@pytest.fixture(scope="module")
def first(spark: SparkSession) -> list[Diagnosis]:
    """What tasks find in the first capture, of one mode."""
    return in_tasks(spark, source_of(FEW[:1]), ["idle_disconnect"])


@pytest.fixture(scope="module")
def first_without_detector(spark: SparkSession) -> list[Diagnosis]:
    """What tasks find in it where no detector runs."""
    return in_tasks(spark, source_of(FEW[:1]), UNTRIGGERED)


def test_tasks_find_what_spark_finds(spark: SparkSession, few: list[Diagnosis], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(diagnose_module, "MAX_TASK_EVENTS", -1)

    by_spark = diagnose(spark, source_of(FEW), request_for())

    assert compared(few) == compared(by_spark)


def test_findings_do_not_depend_on_whether_conditions_are_found(spark: SparkSession, few: list[Diagnosis]):
    found = diagnose(spark, source_of(FEW), replace(request_for(), conditions=False))

    assert any(each.conditions for each in few)
    assert not any(each.conditions for each in found)
    assert [(each.verdicts, compared([each])[0][1]) for each in found] == [
        (each.verdicts, compared([each])[0][1]) for each in few
    ]


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_tasks_find_what_spark_finds_in_every_recording(spark: SparkSession, monkeypatch: pytest.MonkeyPatch):
    found = in_tasks(spark, source_of(EVERY))
    monkeypatch.setattr(diagnose_module, "MAX_TASK_EVENTS", -1)

    by_spark = diagnose(spark, source_of(EVERY), request_for())

    assert compared(found) == compared(by_spark)


def on_files(folders: list[Path]) -> list[Diagnosis]:
    """Diagnose in a process of its own, with every frame in files of the engine, as those of large captures are."""
    embedded.INLINE_BYTES = embedded.MANY_BYTES = 0
    vars(diagnose_in_session_module)["SEPARATE_FRAME_EVENTS"] = 0
    inputs = source_of(folders)
    with embedded.embedded_session() as session:
        found = diagnose_in_session(session, inputs, request_for())
    return [diagnose_module._with_lab_notes(each, inputs.captures[each.path]) for each in found]


def in_other_process(folders: list[Path]) -> list[Diagnosis]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
        return other.submit(on_files, folders).result()


def test_large_captures_are_diagnosed_as_small_ones(few: list[Diagnosis]):
    """Predicates with a lambda failed on frames of more than a megabyte."""
    assert compared(in_other_process(FEW)) == compared(few)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_every_recording_is_diagnosed_as_a_small_one_when_it_is_large(spark: SparkSession):
    assert compared(in_other_process(EVERY)) == compared(in_tasks(spark, source_of(EVERY)))


def test_captures_together_are_diagnosed_as_each_alone(spark: SparkSession, few: list[Diagnosis]):
    alone = [each for folder in FEW for each in diagnose(spark, source_of([folder]), request_for())]

    assert compared(few) == compared(alone)


def test_events_of_workers_are_diagnosed_in_tasks_too(spark: SparkSession, few: list[Diagnosis]):
    """What is read by Spark's tasks and not in this process."""
    paths = [str(folder) for folder in FEW[:3]]

    remote = in_tasks(spark, find_input(paths))

    assert compared(remote) == compared(each for each in few if each.path in paths)


def test_spark_diagnoses_a_capture_that_is_too_large_for_a_worker(
    spark: SparkSession, first: list[Diagnosis], monkeypatch: pytest.MonkeyPatch
):
    """Of events that Spark's tasks read; of those that this process reads, the first test has every mode."""
    monkeypatch.setattr(diagnose_module, "MAX_TASK_EVENTS", 10)

    remote = diagnose(spark, find_input([str(FEW[0])]), request_for(["idle_disconnect"]))

    assert compared(remote) == compared(first)


def test_spark_diagnoses_a_capture_that_the_engine_fails_on(
    spark: SparkSession,
    first_without_detector: list[Diagnosis],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
):
    """As on an executor on which the engine is not installed."""
    monkeypatch.setattr(diagnose_in_tasks, "_run_task", refuse)

    with caplog.at_level(logging.DEBUG, logger="leadsman"):
        found = diagnose(spark, source_of(FEW[:1]), request_for(UNTRIGGERED))

    assert LEFT in caplog.text
    assert compared(found) == compared(first_without_detector)


def test_spark_diagnoses_the_captures_of_a_worker_that_died(
    spark: SparkSession, first_without_detector: list[Diagnosis], monkeypatch: pytest.MonkeyPatch
):
    """As the kernel kills a process when memory runs out."""
    monkeypatch.setattr(diagnose_in_tasks, "_run_task", die)

    found = diagnose(spark, source_of(FEW[:1]), request_for(UNTRIGGERED))

    assert compared(found) == compared(first_without_detector)


def die(_paths: Sequence[str], _events: pa.Table, _task: diagnose_in_tasks.TaskRequest) -> list[pa.RecordBatch]:
    os._exit(137)


def refuse(paths: Sequence[str], _events: pa.Table, _task: diagnose_in_tasks.TaskRequest) -> list[pa.RecordBatch]:
    failed = {"paths": list(paths), "diagnoses": None, "failed": "ModuleNotFoundError: No module named 'pysail'"}
    return [pa.RecordBatch.from_pylist([failed], schema=diagnose_in_tasks.TASK_RESULT)]


def test_a_session_has_its_own_partitions_again_after_very_many_events(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(diagnose_module, "EVENTS_PER_PARTITION", 100)
    before, during = spark.conf.get(diagnose_module.SHUFFLE_PARTITIONS), list[str | None]()
    inputs = find_input(list(map(str, FEW)))

    diagnose(
        spark,
        inputs,
        request_for(),
        write_events=lambda _: during.append(spark.conf.get(diagnose_module.SHUFFLE_PARTITIONS)),
    )

    assert during != [before]
    assert spark.conf.get(diagnose_module.SHUFFLE_PARTITIONS) == before


def test_tables_are_on_disk_where_shared_memory_is_too_small_for_them():
    with embedded.embedded_session():
        assert memory_folder() in embedded.TABLES.get().folder.parents
    with embedded.embedded_session(event_bytes=1 << 60):
        assert embedded.TABLES.get().folder.parent == Path(gettempdir())


def test_no_folder_is_left_in_shared_memory(spark: SparkSession):
    diagnose(spark, source_of(EVERY[:20]), request_for(["idle_disconnect"]))

    workers = [each.pid for each in psutil.Process().children(recursive=True)]
    assert workers
    assert [path for pid in workers for path in Path("/dev/shm").glob(f"leadsman-{os.getuid()}-{pid}-*")] == []
