"""Captures diagnosed in tasks, by the engine embedded there, are diagnosed as Spark's own SQL does it."""

import logging
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from leadsman.catalogue import every_mode, modes_named
from leadsman.model import Diagnosis
from leadsman.pipeline import diagnose as whole
from leadsman.pipeline import embedded, tasks
from leadsman.pipeline.diagnose import diagnose
from leadsman.pipeline.question import Question, look, read_small

FEW = [folder for mode in every_mode() for kind in ("broken", "near-miss") for folder in mode.recordings()
       if folder.name.startswith(kind)][::6]  # fmt: skip
EVERY = [folder for mode in every_mode() for folder in mode.recordings()]
LEFT = "left to Spark SQL"


def question_of(names: Sequence[str] = ()) -> Question:
    return Question(modes=modes_named(names), points=True)


def comparable(diagnosis: Diagnosis) -> tuple[object, ...]:
    """Return what must not depend on the engine: all but last digits of figures, and the order of points."""
    findings = [
        (
            each.mode,
            each.verdict,
            each.title,
            each.summary,
            each.chain,
            each.rivals,
            each.changes,
            {name: f"{value:.4g}" if isinstance(value, float) else value for name, value in each.figures.items()},
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


@pytest.mark.parametrize(
    "folders",
    [
        pytest.param(FEW, id="some"),
        pytest.param(EVERY, id="all", marks=[pytest.mark.long, pytest.mark.timeout(1800)]),
    ],
)
def test_tasks_find_what_spark_finds(
    spark: SparkSession, folders: list[Path], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    source = read_small(look([str(folder) for folder in folders]))

    with caplog.at_level(logging.DEBUG, logger="leadsman"):
        in_tasks = diagnose(spark, source, question_of())
    monkeypatch.setattr(whole, "MOST_EVENTS", -1)
    by_spark = diagnose(spark, source, question_of())

    assert LEFT not in caplog.text
    assert [comparable(each) for each in in_tasks] == [comparable(each) for each in by_spark]


def on_files(folders: list[Path]) -> list[Diagnosis]:
    """Diagnose in a process of its own, with every frame in a file, as those of large captures are."""
    embedded.SENT_BYTES = 0
    source = read_small(look([str(folder) for folder in folders]))
    with embedded.running() as session:
        found = whole.on_one_session(session, source, question_of())
    return [whole._scaled(each, source.found[each.path]) for each in found]


@pytest.mark.parametrize(
    "folders",
    [
        pytest.param(FEW, id="some"),
        pytest.param(EVERY, id="all", marks=[pytest.mark.long, pytest.mark.timeout(1800)]),
    ],
)
def test_the_size_of_a_capture_changes_nothing(spark: SparkSession, folders: list[Path]):
    """Predicates with a lambda failed on frames of more than a megabyte."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
        large = other.submit(on_files, folders).result()

    small = diagnose(spark, read_small(look([str(folder) for folder in folders])), question_of())

    assert [comparable(each) for each in large] == [comparable(each) for each in small]


def test_captures_together_are_diagnosed_as_each_alone(spark: SparkSession):
    paths = [str(folder) for folder in FEW]

    together = diagnose(spark, read_small(look(paths)), question_of())
    alone = [each for path in paths for each in diagnose(spark, read_small(look([path])), question_of())]

    assert [comparable(each) for each in together] == [comparable(each) for each in alone]


def test_events_of_workers_are_diagnosed_in_tasks_too(spark: SparkSession, caplog: pytest.LogCaptureFixture):
    """What is read by Spark's tasks and not in this process."""
    paths = [str(folder) for folder in FEW[:3]]

    with caplog.at_level(logging.DEBUG, logger="leadsman"):
        elsewhere = diagnose(spark, look(paths), question_of())

    here = diagnose(spark, read_small(look(paths)), question_of())
    assert LEFT not in caplog.text
    assert [comparable(each) for each in elsewhere] == [comparable(each) for each in here]


def test_a_capture_that_is_too_large_for_a_worker_is_left_to_spark(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
):
    source = read_small(look([str(FEW[0])]))
    in_task = diagnose(spark, source, question_of(["idle_disconnect"]))

    monkeypatch.setattr(whole, "MOST_EVENTS", 10)
    by_spark = diagnose(spark, source, question_of(["idle_disconnect"]))
    elsewhere = diagnose(spark, look([str(FEW[0])]), question_of(["idle_disconnect"]))

    expected = [comparable(each) for each in in_task]
    assert [comparable(each) for each in by_spark] == expected
    assert [comparable(each) for each in elsewhere] == expected


def test_what_the_engine_fails_on_is_left_to_spark(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """As on an executor on which the engine is not installed."""
    source = read_small(look([str(FEW[0])]))
    expected = [comparable(each) for each in diagnose(spark, source, question_of(["idle_disconnect"]))]

    monkeypatch.setattr(tasks, "_told", refuse)
    with caplog.at_level(logging.DEBUG, logger="leadsman"):
        found = diagnose(spark, source, question_of(["idle_disconnect"]))

    assert LEFT in caplog.text
    assert [comparable(each) for each in found] == expected


def test_a_worker_that_dies_leaves_its_captures_to_spark(spark: SparkSession, monkeypatch: pytest.MonkeyPatch):
    """As the kernel kills one for want of memory."""
    source = read_small(look([str(FEW[0])]))
    expected = [comparable(each) for each in diagnose(spark, source, question_of(["idle_disconnect"]))]

    monkeypatch.setattr(tasks, "_told", die)
    found = diagnose(spark, source, question_of(["idle_disconnect"]))

    assert [comparable(each) for each in found] == expected


def die(_paths: Sequence[str], _events: pa.Table, _errand: tasks.Errand) -> list[pa.RecordBatch]:
    os._exit(137)


def refuse(paths: Sequence[str], _events: pa.Table, _errand: tasks.Errand) -> list[pa.RecordBatch]:
    failed = {"paths": list(paths), "diagnoses": None, "failed": "ModuleNotFoundError: No module named 'pysail'"}
    return [pa.RecordBatch.from_pylist([failed], schema=tasks.TOLD)]


def test_nothing_is_left_in_memory(spark: SparkSession):
    memory = Path("/dev/shm")
    kept = f"leadsman-{os.getuid()}-*"

    diagnose(spark, read_small(look([str(folder) for folder in EVERY[:20]])), question_of(["idle_disconnect"]))

    assert list(memory.glob(kept)) == []
