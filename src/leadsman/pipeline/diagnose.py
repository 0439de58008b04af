"""From paths to diagnoses, in one Spark job however many captures there are."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from leadsman import vocabulary as names
from leadsman.capture import read_manifest
from leadsman.model import Matrix, Point, Verdict
from leadsman.pipeline import events as table
from leadsman.pipeline.elsewhere import events_elsewhere, is_elsewhere
from leadsman.pipeline.listing import listing, told_of, visible_sources
from leadsman.pipeline.streams import balanced
from leadsman.pipeline.verdicts import Observation, cell, judge, observation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import tzinfo

    import pyarrow as pa
    from pyspark.sql import DataFrame, Row, SparkSession

    from leadsman.catalogue import Mode
    from leadsman.model import Cell, Diagnosis, Finding
    from leadsman.pipeline.question import Input, Question
    from leadsman.pipeline.shapes import Detection
    from leadsman.pipeline.streams import Found, Stream

POINTS_KEPT = 4000
"""Points that a page can draw and a reader can tell apart."""

READER_NAMES = (names.FILE_READ, names.FILE_NOT_UNDERSTOOD, names.SUBJECT_ACTIVE, names.SUBJECT_QUIET, names.SETTING)


class Answer(NamedTuple):
    """What one detector says of one capture. Of a matrix: its cells, how many rows it has in all, and columns."""

    observations: list[Observation]
    points: list[Point]
    cells: list[Cell]
    extent: list[tuple[int, int]]


Answers = dict[tuple[str, str], Answer]
"""By (capture, mode)."""


def diagnose(
    spark: SparkSession, source: Input, question: Question, keep: Callable[[DataFrame], None] | None = None
) -> list[Diagnosis]:
    """Return one diagnosis a path, in the order given. `keep` is handed the event table before it is let go."""
    events = _chosen(events_of(spark, source), question).persist()
    try:
        answers = _detect(events, _with_signs(question, _names(events, source)))
        told = told_of(events)
        if keep:
            keep(events)
    finally:
        events.unpersist()
    return [
        _diagnosis(path, found, told.get(path, []), _found(path, question.modes, told.get(path, []), answers))
        for path, found in source.found.items()
    ]


def events_of(spark: SparkSession, source: Input) -> DataFrame:
    """Return the event table: the events that are here, and what tasks read where the bytes are."""
    parts = [events_elsewhere(spark, path, source.zone) for path in source.found if is_elsewhere(path)]
    if source.events is not None and (source.streams or not parts):
        parts.append(spark.createDataFrame(source.events))
    elif source.streams:
        parts.append(read_events(spark, source.streams, source.zone))
    events = reduce(lambda left, right: left.unionByName(right), parts)
    return events.coalesce(1) if source.events is not None else events


def _names(events: DataFrame, source: Input) -> set[str]:
    """Return the names that the events carry."""
    if source.events is not None and not any(map(is_elsewhere, source.found)):
        # Known here: a job would take a third of a second.
        return set(map(str, source.events.column("name").unique().to_pylist()))
    return {row["name"] for row in events.select("name").distinct().collect()}


def _with_signs(question: Question, present: set[str]) -> Question:
    """Leave out the modes of which there is no sign: a detector costs a second whether or not it finds anything."""
    modes = [mode for mode in question.modes if not mode.card.signs or present.intersection(mode.card.signs)]
    return replace(question, modes=modes)


def read_events(spark: SparkSession, streams: Sequence[Stream], zone: tzinfo) -> DataFrame:
    """Return the event table of the streams, read by as many tasks as there are cores for."""
    parts = balanced(streams, max(1, _cores(spark) * 2))

    def read_parts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from leadsman.pipeline.events import batches as gathered  # noqa: PLC0415 - runs on the executor
        from leadsman.pipeline.read import read  # noqa: PLC0415

        for batch in batches:
            for part in map(int, batch.column("id").to_numpy()):
                yield from gathered(each for stream in parts[part] for each in read(stream, zone))

    return spark.range(0, len(parts), 1, max(1, len(parts))).mapInArrow(read_parts, table.SPARK)


def _cores(spark: SparkSession) -> int:
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # noqa: BLE001 - Spark Connect has no context to ask; any error means that
        return int(spark.conf.get("spark.sql.leafNodeDefaultParallelism", "8") or 8)


def _chosen(events: DataFrame, question: Question) -> DataFrame:
    """Keep the time asked for. Events without a time stay: settings hold at any time."""
    for bound, keeps in ((question.since, F.col("at").__ge__), (question.until, F.col("at").__le__)):
        if bound is not None:
            reader = F.col("name").isin(*READER_NAMES) & (F.col("name") != names.SUBJECT_QUIET)
            events = events.where(reader | F.col("at").isNull() | keeps(F.lit(bound)))
    return events


def _detect(events: DataFrame, question: Question) -> Answers:
    """Run every detector; return observations and points by (capture, mode)."""
    if not question.modes:
        return {}
    detections = {mode.name: mode.detect(events, **question.overrides.get(mode.name, {})) for mode in question.modes}
    try:
        return _answers(detections, points=question.points)
    finally:
        for frame in [frame for each in detections.values() for frame in each.kept]:
            frame.unpersist()


def _answers(detections: Mapping[str, Detection], *, points: bool) -> Answers:
    answers: Answers = {}
    for row in _collect({name: each.observations for name, each in detections.items()}):
        key = (row["capture"], row["mode"])
        answers.setdefault(key, Answer([], [], [], [])).observations.append(observation(row))
    _add_cells(answers, detections)
    if points and answers:
        for row in _collect({name: each.points.limit(POINTS_KEPT) for name, each in detections.items()}):
            if (row["capture"], row["mode"]) in answers:
                answers[row["capture"], row["mode"]].points.append(
                    Point(
                        subject=row["subject"],
                        outcome=row["outcome"],
                        since=row["since"],
                        at=row["at"],
                        value=row["value"],
                    ),
                )
    return answers


def _add_cells(answers: Answers, detections: Mapping[str, Detection]) -> None:
    """Add the matrices of the modes that have something to say and have one."""
    told = {mode for _, mode in answers}
    frames = {name: each.cells for name, each in detections.items() if each.cells is not None and name in told}
    for row in sorted(_collect(frames), key=lambda row: (row["row_place"], row["column_place"])) if frames else ():
        if answer := answers.get((row["capture"], row["mode"])):
            answer.cells.append(cell(row))
            answer.extent[:] = [(row["rows"], row["columns"])]


def _collect(frames: Mapping[str, DataFrame]) -> list[Any]:
    named = [frame.withColumn("mode", F.lit(name)) for name, frame in frames.items()]
    return reduce(lambda left, right: left.unionByName(right), named).collect()


def _found(path: str, modes: Sequence[Mode], told: Sequence[Row], answers: Answers) -> list[tuple[Mode, Finding]]:
    """Return what each mode's observations amount to, for one capture."""
    visible = visible_sources(told)
    judged = []
    for mode in modes:
        answer = answers.get((path, mode.name), Answer([], [], [], []))
        finding = judge(mode.name, mode.card, answer.observations, sources=visible, points=answer.points)
        judged.append((mode, replace(finding, matrix=_matrix(mode, answer))))
    return judged


def _matrix(mode: Mode, answer: Answer) -> Matrix | None:
    if mode.card.matrix is None or not answer.cells:
        return None
    ((rows, columns),) = answer.extent
    return Matrix(axes=mode.card.matrix, cells=tuple(answer.cells), rows=rows, columns=columns)


def _diagnosis(path: str, found: Found, told: Sequence[Row], judged: Sequence[tuple[Mode, Finding]]) -> Diagnosis:
    benign = {each.name: each.why for mode, _ in judged for each in mode.card.benign}
    explained = {name for mode, finding in judged if finding.verdict is Verdict.PRESENT for name in mode.card.explains}
    listed = listing(told, benign=benign, explained=explained)
    return replace(
        listed,
        path=path,
        verdicts={finding.mode: finding.verdict for _, finding in judged},
        findings=tuple(finding for _, finding in judged if finding.verdict is not Verdict.ABSENT),
        not_understood=(*found.refused, *listed.not_understood),
        notes=(*_scale(path), *listed.notes),
    )


def _scale(path: str) -> list[str]:
    """Return what a capture's manifest says about short values that stand for long ones."""
    manifest = read_manifest(Path(path)) if Path(path).is_dir() else None
    return [f"Recorded by the lab: {name}: {says}." for name, says in manifest.stands_for.items()] if manifest else []
