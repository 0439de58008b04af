"""Diagnoses captures in the tasks of one Spark job, with the SQL engine that is embedded in each Python worker.

Spark reads the files, distributes the events and collects the results. A task diagnoses one capture, or several small
ones. Captures that are too large for a worker's memory, and those on which a task failed, are diagnosed by Spark SQL
with the same detectors.
"""

from __future__ import annotations

import logging
import pickle
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from leadsman.catalogue import Mode
from leadsman.interrupt import raise_if_interrupted
from leadsman.pipeline.request import DiagnosisInput, DiagnosisRequest
from leadsman.pipeline.spark.memory import available_bytes
from leadsman.pipeline.spark.packed_events import unpack
from leadsman.pipeline.spark.pyspark_startup import apply_in_arrow, map_in_arrow
from leadsman.pipeline.timings import collected_timings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime, tzinfo

    from pyspark.sql import DataFrame, SparkSession

    from leadsman.model import Diagnosis
    from leadsman.pipeline.scope.clusters import ClusterScope
    from leadsman.pipeline.scope.streams import CaptureFiles

LOG = logging.getLogger(__name__)

MAX_TASK_EVENTS = 4_000_000
"""Events of a capture that a worker takes at most. Spark SQL diagnoses larger captures."""

EVENT_BYTES = 2_500
"""Bytes of a worker's memory for each event. Measured: 2,000 for a client's failure and for a partition's state."""

MAX_CLOSURE_EVENTS = 200_000
"""Events of the driver, some 60 MB, that are serialized with the task's function. More events become packed events in a
frame, as do those that workers read. A million events in the function filled the heap of the JVM."""

MIN_EVENTS_PER_TASK = 20_000
"""From so many events on, another worker is worth its start-up of a second."""

TASK_RESULT = pa.schema(
    [
        ("paths", pa.list_(pa.string())),
        ("diagnoses", pa.binary()),
        ("failed", pa.string()),
        ("notes", pa.list_(pa.string())),
    ]
)
TASK_RESULT_DDL = "paths array<string>, diagnoses binary, failed string, notes array<string>"


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """The request of a task, small enough to be serialized with the task's function."""

    captures: Mapping[str, CaptureFiles]
    zone: tzinfo
    modes: tuple[str, ...]
    overrides: Mapping[str, Mapping[str, float]]
    since: datetime | None
    until: datetime | None
    points: bool
    conditions: bool
    scopes: Sequence[ClusterScope] | None

    @property
    def request(self) -> DiagnosisRequest:
        """The diagnosis request, with the modes of this process."""
        modes = [Mode(name) for name in self.modes]
        return DiagnosisRequest(
            modes, self.overrides, since=self.since, until=self.until, points=self.points, conditions=self.conditions
        )


def task_request(inputs: DiagnosisInput, request: DiagnosisRequest) -> TaskRequest:
    """Return the request for tasks."""
    return TaskRequest(
        captures=inputs.captures,
        zone=inputs.zone,
        modes=tuple(mode.name for mode in request.modes),
        overrides=request.overrides,
        since=request.since,
        until=request.until,
        points=request.points,
        conditions=request.conditions,
        scopes=inputs.scopes,
    )


def diagnose_local_events(
    spark: SparkSession, inputs: DiagnosisInput, request: DiagnosisRequest, cores: int
) -> dict[str, list[Diagnosis]]:
    """Return the diagnoses of an input whose events are in the driver, by path, without those that tasks failed on."""
    assert inputs.events is not None
    groups = [_serialize(group) for group in _group_captures(inputs.events, inputs.captures, cores)]
    task = task_request(inputs, request)

    def diagnose(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            numbers: list[Any] = batch.column("id").to_pylist()
            yield from (result for number in numbers for result in _run_task(*_deserialize(groups[number]), task))

    return _collect(map_in_arrow(spark.range(0, len(groups), 1, len(groups)), diagnose, TASK_RESULT_DDL))


def diagnose_packed_events(
    packed: DataFrame, inputs: DiagnosisInput, request: DiagnosisRequest, counts: Mapping[str, int]
) -> dict[str, list[Diagnosis]]:
    """Return the diagnoses of captures whose events are packed, by path, without those that tasks failed on.

    `counts` are the numbers of events of the captures that are small enough for a worker.
    """
    task = task_request(inputs, request)
    groups = max(
        1, -(-sum(counts.values()) // MAX_TASK_EVENTS), min(len(counts), sum(counts.values()) // MIN_EVENTS_PER_TASK)
    )

    def diagnose(packed: pa.Table) -> pa.Table:
        paths = sorted(set(map(str, packed.column("capture").to_pylist())))
        return pa.Table.from_batches(list(_run_task(paths, unpack(packed), task)), schema=TASK_RESULT)

    selected = packed.where(packed["capture"].isin(*counts)).selectExpr("*", f"pmod(hash(capture), {groups}) AS task")
    by_task = selected.repartition(groups, "task").groupBy("task")
    return _collect(apply_in_arrow(by_task, diagnose, TASK_RESULT_DDL))


def _collect(results: DataFrame) -> dict[str, list[Diagnosis]]:
    """Return the diagnoses of the tasks. Where a worker died, out of memory perhaps, Spark SQL diagnoses everything."""
    by_path: dict[str, list[Diagnosis]] = {}
    try:
        rows = results.collect()
    except (PySparkException, Py4JError) as error:
        raise_if_interrupted(error)
        LOG.info("left to Spark SQL: a task failed: %s", error)
        return {}
    for row in rows:
        for note in row["notes"] or ():
            LOG.debug("%s: %s", _label(row["paths"]), note)
        if row["failed"]:
            LOG.info("left to Spark SQL: %s: %s", _label(row["paths"]), row["failed"])
        else:
            by_path |= pickle.loads(row["diagnoses"])  # noqa: S301 - written by our own task
    return by_path


def _run_task(paths: Sequence[str], events: pa.Table, task: TaskRequest) -> Iterator[pa.RecordBatch]:
    """Yield the diagnoses of some captures, or the error with which they failed."""
    with collected_timings() as notes:
        try:
            diagnoses, failed = pickle.dumps(_diagnose(paths, events, task)), None
        except Exception as error:  # noqa: BLE001 - a task's edge: after any error Spark SQL diagnoses these captures
            diagnoses, failed = None, f"{type(error).__name__}: {error}"
    result = {"paths": list(paths), "diagnoses": diagnoses, "failed": failed, "notes": notes}
    yield pa.RecordBatch.from_pylist([result], schema=TASK_RESULT)


def _label(paths: Sequence[str]) -> str:
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"


def _diagnose(paths: Sequence[str], events: pa.Table, task: TaskRequest) -> dict[str, list[Diagnosis]]:
    from leadsman.pipeline.diagnose_in_session import diagnose_in_session
    from leadsman.pipeline.spark.embedded import embedded_session

    free, needed = available_bytes(), events.num_rows * EVENT_BYTES
    if free is not None and needed > free:
        raise MemoryError(f"{events.num_rows} events take up to {needed >> 20} MB, {free >> 20} MB are available")
    inputs = DiagnosisInput({path: task.captures[path] for path in paths}, task.zone, events=events, scopes=task.scopes)
    with embedded_session(events.nbytes) as spark:
        by_path: dict[str, list[Diagnosis]] = {path: [] for path in paths}
        for each in diagnose_in_session(spark, inputs, task.request):
            by_path[each.path].append(each)
    return by_path


def _group_captures(events: pa.Table, paths: Iterable[str], cores: int) -> list[tuple[list[str], pa.Table]]:
    """Return captures with their events, in as many groups as are worth a task, of about the same size."""
    tables_of: dict[str, list[pa.Table]] = {path: [] for path in paths}
    start = 0
    for path, rows in groupby(map(str, events.column("capture").to_pylist())):
        length = sum(1 for _ in rows)
        tables_of[path].append(events.slice(start, length))
        start += length
    sizes = {path: sum(map(len, tables)) for path, tables in tables_of.items()}
    count = max(1, min(cores, len(tables_of), events.num_rows // MIN_EVENTS_PER_TASK))
    groups: list[list[str]] = [[] for _ in range(count)]
    for path in sorted(sizes, key=lambda path: -sizes[path]):
        min(groups, key=lambda group: sum(sizes[each] for each in group)).append(path)
    empty = events.slice(0, 0)
    return [
        (group, pa.concat_tables([empty, *(each for path in group for each in tables_of[path])])) for group in groups
    ]


def _serialize(group: tuple[list[str], pa.Table]) -> tuple[list[str], bytes]:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, group[1].schema) as writer:
        writer.write_table(group[1])
    return group[0], sink.getvalue().to_pybytes()


def _deserialize(group: tuple[list[str], bytes]) -> tuple[list[str], pa.Table]:
    return group[0], pa.ipc.open_stream(group[1]).read_all()
