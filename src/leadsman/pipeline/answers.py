"""Runs detectors over an event table and collects what they say, by capture and mode."""

from __future__ import annotations

import operator
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from leadsman.model import Matrix, Point
from leadsman.pipeline.embedded import is_embedded
from leadsman.pipeline.shapes import POINT
from leadsman.pipeline.spent import spent
from leadsman.pipeline.verdicts import Observation, cell, observation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from leadsman.catalogue import Mode
    from leadsman.model import Cell
    from leadsman.pipeline.question import Question
    from leadsman.pipeline.shapes import Detection

POINTS_KEPT = 4000
"""Points of a capture that a page can draw and a reader can tell apart."""


ERROR_SHOWN = 300
"""Characters of an error's first line."""


class Answer(NamedTuple):
    """What one detector says of one capture. Of a matrix: its cells, how many rows it has in all, and columns.

    `failed` is the error with which the detector failed on this capture; else it is empty.
    """

    observations: list[Observation]
    points: list[Point]
    cells: list[Cell]
    extent: list[tuple[int, int]]
    failed: str = ""


Answers = dict[tuple[str, str], Answer]
"""By (capture, mode)."""


def silence() -> Answer:
    """Return the answer of a detector that has nothing to say."""
    return Answer([], [], [], [])


def ask(events: DataFrame, question: Question) -> Answers:
    """Run every detector; return observations and points by (capture, mode).

    A detector that fails on a capture says nothing of that one; the others are not concerned.
    """
    if not question.modes:
        return {}
    try:
        return _asked(events, question)
    except (PySparkException, Py4JError) as error:
        if is_embedded(events.sparkSession):
            raise  # Spark SQL is asked instead
        return _asked_singly(events, question, error)


def _asked(events: DataFrame, question: Question) -> Answers:
    detections: dict[str, Detection] = {}
    try:
        for mode in question.modes:
            with spent(mode.name):
                detections[mode.name] = mode.detect(events, **question.overrides.get(mode.name, {}))
        with spent("observations of all modes"):
            return _answers(detections, points=question.points)
    finally:
        for frame in [frame for each in detections.values() for frame in each.kept]:
            frame.unpersist()


def _asked_singly(events: DataFrame, question: Question, error: Exception) -> Answers:
    """Ask mode by mode, and of one mode capture by capture, so that what fails fails alone."""
    captures = [row["capture"] for row in events.select("capture").distinct().collect()]
    if len(question.modes) > 1:
        parts = [(events, replace(question, modes=[mode])) for mode in question.modes]
    elif len(captures) > 1:
        parts = [(events.where(F.col("capture") == capture), question) for capture in captures]
    else:
        failed = Answer([], [], [], [], failed=str(error).partition("\n")[0][:ERROR_SHOWN])
        return {(capture, mode.name): failed for capture in captures for mode in question.modes}
    return reduce(operator.or_, (ask(frame, part) for frame, part in parts))


def matrix_of(mode: Mode, answer: Answer) -> Matrix | None:
    """Return the matrix of a mode that has one and of which the capture shows any cell."""
    if mode.card.matrix is None or not answer.cells:
        return None
    ((rows, columns),) = answer.extent
    return Matrix(axes=mode.card.matrix, cells=tuple(answer.cells), rows=rows, columns=columns)


def _answers(detections: Mapping[str, Detection], *, points: bool) -> Answers:
    answers: Answers = {}
    rows = _collect({name: each.observations for name, each in detections.items()})
    for row in sorted(rows, key=lambda row: (row["subject"], row["link"])):  # Spark hands them out in any order
        answers.setdefault((row["capture"], row["mode"]), silence()).observations.append(observation(row))
    _add_cells(answers, detections)
    if points and answers:
        for row in _collect({name: _thinned(each.points) for name, each in detections.items()}):
            if (row["capture"], row["mode"]) in answers:
                answers[row["capture"], row["mode"]].points.append(_point(row))
    return answers


def _thinned(points: DataFrame) -> DataFrame:
    """Return of each capture the points that can be drawn, evenly over its time."""
    place = "row_number() OVER (PARTITION BY capture ORDER BY at, subject, outcome, since, value) - 1 AS place"
    numbered = points.selectExpr(*POINT, place, "count(*) OVER (PARTITION BY capture) AS many")
    return numbered.where(f"place % ceil(many / {POINTS_KEPT}) = 0").select(*POINT)


def _point(row: Any) -> Point:  # noqa: ANN401 - Spark's Row has no static type
    return Point(subject=row["subject"], outcome=row["outcome"], since=row["since"], at=row["at"], value=row["value"])


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
