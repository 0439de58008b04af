"""Diagnoses captures in the tasks of one Spark job, each with the engine that is embedded in its Python worker.

Spark reads, distributes and gathers; what a task does is one capture, or several small ones, from events to diagnoses.
What is too large for a worker's memory, and what a task fails on, is left to Spark SQL, by the same detectors.
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
from leadsman.pipeline.memory import available_bytes
from leadsman.pipeline.parcels import unpacked
from leadsman.pipeline.question import Input, Question
from leadsman.pipeline.spent import noted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime, tzinfo

    from pyspark.sql import DataFrame, SparkSession

    from leadsman.model import Diagnosis
    from leadsman.pipeline.streams import Found

LOG = logging.getLogger(__name__)

MOST_EVENTS = 2_000_000
"""Events of a capture that a worker takes at most. Larger ones are Spark SQL's."""

EVENT_BYTES = 6_000
"""Of a worker's memory. Measured: 2,000 an event of clients that fail, 6,000 a state of a partition."""

MOST_SENT = 200_000
"""Events of this process, some 60 MB, that go with a task as they are; more are parcels of Spark's first, as are those
that workers read. A million of them filled the heap of the JVM."""

WORTH_A_TASK = 20_000
"""Events for which another worker is worth its start of a second."""

TOLD = pa.schema(
    [
        ("paths", pa.list_(pa.string())),
        ("diagnoses", pa.binary()),
        ("failed", pa.string()),
        ("notes", pa.list_(pa.string())),
    ]
)
TOLD_IN_SPARK = "paths array<string>, diagnoses binary, failed string, notes array<string>"


@dataclass(frozen=True, slots=True)
class Errand:
    """What a task is asked, small enough to go with it."""

    found: Mapping[str, Found]
    zone: tzinfo
    modes: tuple[str, ...]
    overrides: Mapping[str, Mapping[str, float]]
    since: datetime | None
    until: datetime | None
    points: bool

    @property
    def question(self) -> Question:
        """The question, with modes as this process knows them."""
        modes = [Mode(name) for name in self.modes]
        return Question(modes, self.overrides, since=self.since, until=self.until, points=self.points)


def errand_of(source: Input, question: Question) -> Errand:
    """Return what tasks are asked."""
    return Errand(
        found=source.found,
        zone=source.zone,
        modes=tuple(mode.name for mode in question.modes),
        overrides=question.overrides,
        since=question.since,
        until=question.until,
        points=question.points,
    )


def diagnosed_here(spark: SparkSession, source: Input, question: Question, cores: int) -> dict[str, list[Diagnosis]]:
    """Return the diagnoses of an input whose events are in this process, by path; without what tasks failed on."""
    assert source.events is not None
    parts = [_packed(part) for part in _shared_out(source.events, source.found, cores)]
    errand = errand_of(source, question)

    def diagnose(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            numbers: list[Any] = batch.column("id").to_pylist()
            yield from (told for number in numbers for told in _told(*_unpacked(parts[number]), errand))

    return _gathered(spark.range(0, len(parts), 1, len(parts)).mapInArrow(diagnose, TOLD_IN_SPARK))


def diagnosed_there(
    held: DataFrame, source: Input, question: Question, counts: Mapping[str, int]
) -> dict[str, list[Diagnosis]]:
    """Return the diagnoses of captures whose events are Spark's parcels, by path; without those that tasks failed on.

    `counts` are the events of each capture that a worker can take.
    """
    errand = errand_of(source, question)
    groups = max(1, -(-sum(counts.values()) // MOST_EVENTS), min(len(counts), sum(counts.values()) // WORTH_A_TASK))

    def diagnose(parcels: pa.Table) -> pa.Table:
        paths = sorted(set(map(str, parcels.column("capture").to_pylist())))
        return pa.Table.from_batches(list(_told(paths, unpacked(parcels), errand)), schema=TOLD)

    chosen = held.where(held["capture"].isin(*counts)).selectExpr("*", f"pmod(hash(capture), {groups}) AS part")
    return _gathered(chosen.repartition(groups, "part").groupBy("part").applyInArrow(diagnose, TOLD_IN_SPARK))


def _gathered(told: DataFrame) -> dict[str, list[Diagnosis]]:
    """Return what the tasks found. A worker that died, for want of memory perhaps, leaves everything to Spark SQL."""
    found: dict[str, list[Diagnosis]] = {}
    try:
        rows = told.collect()
    except (PySparkException, Py4JError) as error:
        LOG.info("left to Spark SQL: a task failed: %s", error)
        return {}
    for row in rows:
        for note in row["notes"] or ():
            LOG.debug("%s: %s", _named(row["paths"]), note)
        if row["failed"]:
            LOG.info("left to Spark SQL: %s: %s", _named(row["paths"]), row["failed"])
        else:
            found |= pickle.loads(row["diagnoses"])  # noqa: S301 - written by our own task
    return found


def _told(paths: Sequence[str], events: pa.Table, errand: Errand) -> Iterator[pa.RecordBatch]:
    """Yield the diagnoses of some captures, or why there are none."""
    with noted() as notes:
        try:
            diagnoses, failed = pickle.dumps(_diagnosed(paths, events, errand)), None
        except Exception as error:  # noqa: BLE001 - a task's edge: whatever it is, Spark SQL is asked instead
            diagnoses, failed = None, f"{type(error).__name__}: {error}"
    told = {"paths": list(paths), "diagnoses": diagnoses, "failed": failed, "notes": notes}
    yield pa.RecordBatch.from_pylist([told], schema=TOLD)


def _named(paths: Sequence[str]) -> str:
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"


def _diagnosed(paths: Sequence[str], events: pa.Table, errand: Errand) -> dict[str, list[Diagnosis]]:
    from leadsman.pipeline.diagnose import on_one_session  # noqa: PLC0415 - it imports this module
    from leadsman.pipeline.embedded import running  # noqa: PLC0415 - runs on the executor

    free, needed = available_bytes(), events.num_rows * EVENT_BYTES
    if free is not None and needed > free:
        raise MemoryError(f"{events.num_rows} events take up to {needed >> 20} MB, {free >> 20} MB are available")
    source = Input({path: errand.found[path] for path in paths}, errand.zone, events=events)
    with running() as spark:
        found: dict[str, list[Diagnosis]] = {path: [] for path in paths}
        for each in on_one_session(spark, source, errand.question):
            found[each.path].append(each)
    return found


def _shared_out(events: pa.Table, paths: Iterable[str], cores: int) -> list[tuple[list[str], pa.Table]]:
    """Return captures with their events, in as many parts as are worth a task, of about the same size."""
    of_path: dict[str, list[pa.Table]] = {path: [] for path in paths}
    start = 0
    for path, rows in groupby(map(str, events.column("capture").to_pylist())):
        length = sum(1 for _ in rows)
        of_path[path].append(events.slice(start, length))
        start += length
    sizes = {path: sum(map(len, tables)) for path, tables in of_path.items()}
    count = max(1, min(cores, len(of_path), events.num_rows // WORTH_A_TASK))
    parts: list[list[str]] = [[] for _ in range(count)]
    for path in sorted(sizes, key=lambda path: -sizes[path]):
        min(parts, key=lambda part: sum(sizes[each] for each in part)).append(path)
    empty = events.slice(0, 0)
    return [(part, pa.concat_tables([empty, *(each for path in part for each in of_path[path])])) for part in parts]


def _packed(part: tuple[list[str], pa.Table]) -> tuple[list[str], bytes]:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, part[1].schema) as writer:
        writer.write_table(part[1])
    return part[0], sink.getvalue().to_pybytes()


def _unpacked(part: tuple[list[str], bytes]) -> tuple[list[str], pa.Table]:
    return part[0], pa.ipc.open_stream(part[1]).read_all()
