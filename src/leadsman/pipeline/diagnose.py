"""Diagnoses captures, all in one Spark job: returns one diagnosis for each capture and Kafka cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from leadsman.pipeline.diagnose_in_session import cache_input_events, diagnose_in_session, in_time_range
from leadsman.pipeline.diagnose_in_tasks import (
    MAX_CLOSURE_EVENTS,
    MAX_TASK_EVENTS,
    diagnose_local_events,
    diagnose_packed_events,
)
from leadsman.pipeline.scope.cluster_files import (
    FACT_EVENTS,
    cluster_scopes_of_input,
    file_facts,
    split_by_cluster,
)
from leadsman.pipeline.scope.remote_files import list_remote_files
from leadsman.pipeline.spark.event_frames import cores, event_frame, packed_event_frame
from leadsman.pipeline.spark.packed_events import unpack_frame
from leadsman.pipeline.spark.session import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from pyspark.sql import DataFrame, SparkSession

    from leadsman.model import Diagnosis
    from leadsman.pipeline.request import DiagnosisInput, DiagnosisRequest
    from leadsman.pipeline.scope.streams import CaptureFiles

MAX_RETRIES = 3
"""A diagnosis is retried so often after executors were lost. A Spark cluster that loses more of them is unhealthy."""

LOST_CHECKPOINT = ("CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND", "Checkpoint block")
"""Spark's errors where checkpointed events were lost with the executor that stored them."""

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"

EVENTS_PER_PARTITION = 500_000
"""Some 100 MB of events that Spark SQL shuffles. With fewer partitions, one task takes too much memory."""


def diagnose(
    spark: SparkSession,
    inputs: DiagnosisInput,
    request: DiagnosisRequest,
    write_events: Callable[[DataFrame], None] | None = None,
) -> list[Diagnosis]:
    """Return the diagnoses, one for each path and cluster, in the order of the paths.

    Captures are diagnosed in tasks (`diagnose_in_tasks.py`), those that are too large for a task by Spark SQL.
    `write_events` is called with the event table before the table is unpersisted. Where an executor is lost with events
    that it had read, the whole diagnosis is retried.
    """
    inputs = list_remote_files(spark, inputs, cores(spark))
    for _ in range(MAX_RETRIES):
        try:
            return _diagnose_once(spark, inputs, request, write_events)
        except (PySparkException, Py4JError) as error:
            if not any(name in str(error) for name in LOST_CHECKPOINT):
                raise
    return _diagnose_once(spark, inputs, request, write_events)


def _diagnose_once(
    spark: SparkSession,
    inputs: DiagnosisInput,
    request: DiagnosisRequest,
    write_events: Callable[[DataFrame], None] | None,
) -> list[Diagnosis]:
    packed = None if _is_small(inputs) else packed_event_frame(spark, inputs).persist()
    shuffle_partitions = spark.conf.get(SHUFFLE_PARTITIONS)
    try:
        by_path = _diagnose_in_tasks(spark, inputs, request, packed)
        if left := [path for path in inputs.captures if path not in by_path]:
            by_path |= _group_by_path(_diagnose_by_spark_sql(spark, _restrict_to(inputs, left), request, packed))
        if write_events:
            write_events(_event_table(spark, inputs, request, packed))
    finally:
        if packed:
            packed.unpersist()
        if shuffle_partitions is not None:
            spark.conf.set(SHUFFLE_PARTITIONS, shuffle_partitions)
    return [_with_lab_notes(each, inputs.captures[path]) for path in inputs.captures for each in by_path.get(path, ())]


def _event_table(
    spark: SparkSession, inputs: DiagnosisInput, request: DiagnosisRequest, packed: DataFrame | None
) -> DataFrame:
    """Return the event table as users get it, by capture and cluster. Its partitions are of like sizes."""
    if packed is None:
        events = of_files = event_frame(spark, inputs)
    else:
        partitions = max(cores(spark), int(spark.conf.get(SHUFFLE_PARTITIONS) or 0))
        events, of_files = unpack_frame(packed.repartition(partitions)), unpack_frame(packed, FACT_EVENTS)
    scopes = cluster_scopes_of_input(inputs, file_facts(of_files, inputs))
    return split_by_cluster(in_time_range(events, request), scopes)


def _diagnose_in_tasks(
    spark: SparkSession, inputs: DiagnosisInput, request: DiagnosisRequest, packed: DataFrame | None
) -> dict[str, list[Diagnosis]]:
    if packed is None:
        assert inputs.events is not None
        is_small = inputs.events.num_rows <= MAX_TASK_EVENTS
        return diagnose_local_events(spark, inputs, request, cores(spark)) if is_small else {}
    counts = {
        row["capture"]: row["events"] for row in packed.groupBy("capture").agg(F.sum("count").alias("events")).collect()
    }
    _set_shuffle_partitions(spark, sum(counts.values()))
    small = {capture: count for capture, count in counts.items() if count <= MAX_TASK_EVENTS}
    return diagnose_packed_events(packed, inputs, request, small) if small else {}


def _diagnose_by_spark_sql(
    spark: SparkSession, inputs: DiagnosisInput, request: DiagnosisRequest, packed: DataFrame | None
) -> list[Diagnosis]:
    if packed is None:
        return diagnose_in_session(spark, inputs, request)
    selected = unpack_frame(packed.where(F.col("capture").isin(*inputs.captures)))
    cached = cache_input_events(in_time_range(selected, request), inputs)
    try:
        return diagnose_in_session(spark, inputs, request, cached=cached)
    finally:
        cached.events.unpersist()


def _set_shuffle_partitions(spark: SparkSession, events: int) -> None:
    """Let Spark SQL shuffle very many events in more partitions than the two that suit most captures."""
    if spark.conf.get(SHUFFLE_PARTITIONS) == SETTINGS[SHUFFLE_PARTITIONS]:
        spark.conf.set(SHUFFLE_PARTITIONS, str(max(int(SETTINGS[SHUFFLE_PARTITIONS]), events // EVENTS_PER_PARTITION)))


def _is_small(inputs: DiagnosisInput) -> bool:
    return inputs.is_in_process and inputs.events is not None and inputs.events.num_rows <= MAX_CLOSURE_EVENTS


def _restrict_to(inputs: DiagnosisInput, paths: Collection[str]) -> DiagnosisInput:
    """Return the input with these paths alone."""
    if len(paths) == len(inputs.captures):
        return inputs
    events = inputs.events
    if events is not None:
        selected = set(paths)
        events = events.filter(pa.array([path in selected for path in events.column("capture").to_pylist()]))
    return replace(inputs, captures={path: inputs.captures[path] for path in paths}, events=events)


def _group_by_path(diagnoses: Iterable[Diagnosis]) -> dict[str, list[Diagnosis]]:
    by_path: dict[str, list[Diagnosis]] = {}
    for each in diagnoses:
        by_path.setdefault(each.path, []).append(each)
    return by_path


def _with_lab_notes(diagnosis: Diagnosis, files: CaptureFiles) -> Diagnosis:
    """Add the manifest's notes on short settings in the lab that stand for longer ones in production."""
    stands_for = files.manifest.stands_for if files.manifest else {}
    notes = (f"Lab recording with a shortened time: {name}, {text}." for name, text in stands_for.items())
    return replace(diagnosis, notes=(*notes, *diagnosis.notes))
