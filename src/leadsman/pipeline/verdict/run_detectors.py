"""Runs the detectors over an event table and collects their outputs by capture and mode."""

from __future__ import annotations

import operator
import traceback
from dataclasses import replace
from functools import reduce
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from leadsman.interrupt import raise_if_interrupted
from leadsman.model import Matrix, Point
from leadsman.pipeline.detector_sql import OBSERVATION, POINT, sql_literals
from leadsman.pipeline.spark.embedded import is_embedded
from leadsman.pipeline.timings import timed
from leadsman.pipeline.verdict.decide import Observation, cell_from_row, observation_from_row

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pyspark.sql import DataFrame

    from leadsman.catalogue import Mode
    from leadsman.model import Cell, FailureMode
    from leadsman.pipeline.detector_sql import Detection
    from leadsman.pipeline.request import DiagnosisRequest

POINTS_KEPT = 4000
"""Points of a capture that a page can draw and a reader can distinguish."""

SUBJECT_AND_LINK = [OBSERVATION.index(name) for name in ("subject", "link")]

ERROR_SHOWN = 300
"""Characters of an error's first line."""


class DetectorOutput(NamedTuple):
    """The output of one detector for one capture. `extent` holds the numbers of rows and columns of the whole matrix.

    `failed` is the error with which the detector failed on this capture, `trace` its stack trace; both are empty where
    it did not fail.
    """

    observations: list[Observation]
    points: list[Point]
    cells: list[Cell]
    extent: list[tuple[int, int]]
    failed: str = ""
    trace: str = ""


DetectorOutputs = dict[tuple[str, str], DetectorOutput]
"""By (capture, mode)."""


def no_output() -> DetectorOutput:
    """Return the output of a detector without observations."""
    return DetectorOutput([], [], [], [])


def failed_output(error: Exception) -> DetectorOutput:
    """Return the output of a detector that failed with an error."""
    first_line = str(error).strip().partition("\n")[0][:ERROR_SHOWN] or type(error).__name__
    return DetectorOutput([], [], [], [], failed=first_line, trace="".join(traceback.format_exception(error)))


def run_detectors(events: DataFrame, request: DiagnosisRequest) -> DetectorOutputs:
    """Run every detector; return observations and points by (capture, mode).

    A detector that fails on a capture has no observations of that capture; the other outputs are complete.
    """
    if not request.modes:
        return {}
    try:
        return _run(events, request)
    except Exception as error:  # a detector's fault on one capture must not cost the other verdicts
        raise_if_interrupted(error)
        if is_embedded(events.sparkSession):
            raise  # Spark SQL diagnoses this capture instead
        return _run_one_by_one(events, request, error)


def _run(events: DataFrame, request: DiagnosisRequest) -> DetectorOutputs:
    detections: dict[str, Detection] = {}
    try:
        for mode in request.modes:
            with timed(mode.name):
                read = read_events(events, mode.card)
                detections[mode.name] = mode.detect(read, **request.overrides.get(mode.name, {}))
        with timed("observations of all modes"):
            return _collect_outputs(detections, points=request.points)
    finally:
        for frame in [frame for each in detections.values() for frame in each.materialized_frames]:
            frame.unpersist()


def read_events(events: DataFrame, card: FailureMode) -> DataFrame:
    """Return the events that a mode's detector is given: those that its card names, or all."""
    return events.where(f"name IN ({sql_literals(*card.read_events)})") if card.read_events else events


def reads_any(card: FailureMode, names: Collection[str]) -> bool:
    """Whether a mode's detector is given any event of these names."""
    return not set(card.read_events or names).isdisjoint(names)


def _run_one_by_one(events: DataFrame, request: DiagnosisRequest, error: Exception) -> DetectorOutputs:
    """Run mode by mode, and one mode capture by capture, so that a failure concerns one mode and capture alone."""
    captures = [row["capture"] for row in events.select("capture").distinct().collect()]
    if len(request.modes) > 1:
        parts = [(events, replace(request, modes=[mode])) for mode in request.modes]
    elif len(captures) > 1:
        parts = [(events.where(F.col("capture") == capture), request) for capture in captures]
    else:
        failed = failed_output(error)
        return {(capture, mode.name): failed for capture in captures for mode in request.modes}
    return reduce(operator.or_, (run_detectors(frame, part) for frame, part in parts))


def make_matrix(mode: Mode, output: DetectorOutput) -> Matrix | None:
    """Return the mode's matrix, where the mode has one and the capture has any cell of it."""
    if mode.card.matrix is None or not output.cells:
        return None
    ((rows, columns),) = output.extent
    return Matrix(axes=mode.card.matrix, cells=tuple(output.cells), rows=rows, columns=columns)


def _collect_outputs(detections: Mapping[str, Detection], *, points: bool) -> DetectorOutputs:
    outputs: DetectorOutputs = {}
    rows = map(tuple, _collect({name: each.observations.select(*OBSERVATION) for name, each in detections.items()}))
    for capture, *row, mode in sorted(rows, key=itemgetter(*SUBJECT_AND_LINK)):  # Spark returns rows in any order
        outputs.setdefault((capture, mode), no_output()).observations.append(observation_from_row(row))
    _add_cells(outputs, detections)
    if points and outputs:
        for row in _collect({name: _select_points(each.points) for name, each in detections.items()}):
            if (row["capture"], row["mode"]) in outputs:
                outputs[row["capture"], row["mode"]].points.append(_point(row))
    return outputs


def _select_points(points: DataFrame) -> DataFrame:
    """Return as many points of each capture as can be drawn, evenly over its time."""
    position = "row_number() OVER (PARTITION BY capture ORDER BY at, subject, outcome, since, value) - 1 AS position"
    numbered = points.selectExpr(*POINT, position, "count(*) OVER (PARTITION BY capture) AS many")
    return numbered.where(f"position % ceil(many / {POINTS_KEPT}) = 0").select(*POINT)


def _point(row: Any) -> Point:  # noqa: ANN401 - Spark's Row has no static type
    return Point(subject=row["subject"], outcome=row["outcome"], since=row["since"], at=row["at"], value=row["value"])


def _add_cells(outputs: DetectorOutputs, detections: Mapping[str, Detection]) -> None:
    """Add the matrices of the modes that have observations."""
    with_observations = {mode for _, mode in outputs}
    frames = {
        name: each.cells for name, each in detections.items() if each.cells is not None and name in with_observations
    }
    for row in sorted(_collect(frames), key=lambda row: (row["row_rank"], row["column_rank"])) if frames else ():
        if output := outputs.get((row["capture"], row["mode"])):
            output.cells.append(cell_from_row(row))
            output.extent[:] = [(row["rows"], row["columns"])]


def _collect(frames: Mapping[str, DataFrame]) -> list[Any]:
    """Return the rows of all modes: Spark runs one job for them, the embedded engine plans small queries faster."""
    named = [frame.withColumn("mode", F.lit(name)) for name, frame in frames.items()]
    if is_embedded(named[0].sparkSession):
        return [row for frame in named for row in frame.collect()]
    return reduce(lambda left, right: left.unionByName(right), named).collect()
