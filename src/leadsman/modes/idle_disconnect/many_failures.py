"""Detects with very many failures: no lines are collected but those that a finding can quote, of a few subjects.

To collect, sort and hand on the lines of 80,000 failures took half of the time of their detection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.modes.idle_disconnect.failures import CONDITIONS_MET, LINE_COLUMNS, lost_request_steps
from leadsman.modes.idle_disconnect.relevant_events import (
    CONDITIONS,
    EVENT_COLUMNS,
    EVENT_LABELS,
    IS_RELEVANT,
    QUOTED_EVENTS,
    relevant_events,
)
from leadsman.pipeline.detector_sql import add_materialized, run_steps
from leadsman.pipeline.labelled_events import labelled_events

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from leadsman.modes.idle_disconnect.failures import Distances

SUBJECT_STATES = """
        CASE WHEN max(fits_limit) THEN 'observed'
            WHEN max(is_coincidence) OR max(capture_fits_limit) AND NOT max(idle = 'not visible') THEN 'contradicted'
            WHEN count_if(idle <> 'contradicted' AND NOT other_cause) = 0 THEN 'contradicted'
            ELSE 'not visible' END AS idle,
        IF(max(fits_limit) OR NOT min(other_cause), 'observed', 'contradicted') AS severed,
        IF(max(harmed), 'observed', 'not visible') AS failed
"""
"""The states of the links `idle`, `severed` and `failed` of each subject."""

IS_SHOWN = "fits_limit OR NOT subject_fits_limit"
"""The failures that decide on a subject's states: those that an idle limit explains where there are any, else all."""

SUBJECTS_QUOTED = 20
"""Subjects with the same states whose lines are quoted, where there are very many failures. Findings quote eight lines
of each link, from the first subjects by name."""

QUOTED_SUBJECTS = f"""
    SELECT capture, subject FROM (
        SELECT *, row_number() OVER (PARTITION BY capture, idle, severed, failed ORDER BY subject) AS place
        FROM (
            SELECT capture, subject, {SUBJECT_STATES} FROM attributed WHERE {IS_SHOWN} GROUP BY capture, subject
        )
    ) WHERE place <= {SUBJECTS_QUOTED}
"""

EVENTS_OF_QUOTED = """
    SELECT every.* FROM every_event AS every
        LEFT SEMI JOIN quoted_subjects ON quoted_subjects.capture = every.capture
            AND quoted_subjects.subject = every.subject
"""

LINES_OF_QUOTED = f"SELECT capture, subject, episode, {', '.join(LINE_COLUMNS)} FROM lost_requests"

FAILURES_WITH_LINES = f"""
    SELECT attributed.*, {", ".join(LINE_COLUMNS)}
    FROM attributed LEFT JOIN quoted_lines ON quoted_lines.capture = attributed.capture
        AND quoted_lines.subject = attributed.subject AND quoted_lines.episode = attributed.episode
"""


def add_lost_requests(frames: dict[str, DataFrame], distances: Distances) -> None:
    """Add `labelled_events`, `relevant_events` and `lost_requests` without lines."""
    labelled = labelled_events(frames["events"], IS_RELEVANT, EVENT_LABELS, columns=EVENT_COLUMNS)
    of_events = {"labelled_events": labelled}
    add_materialized(of_events, relevant_events(quoted=False))
    frames |= of_events
    add_materialized(frames, lost_request_steps(distances, quoted=False, absent=_absent_conditions(frames)))


def _absent_conditions(frames: Mapping[str, DataFrame]) -> list[str]:
    """Return the conditions that no event meets."""
    (met,) = run_steps(frames, {"conditions_met": CONDITIONS_MET}).collect()
    return [condition for condition, is_met in zip(CONDITIONS, met, strict=True) if not is_met]


def add_failures_with_lines(frames: dict[str, DataFrame], distances: Distances) -> None:
    """Add the failures with the lines that are quoted, found anew for the subjects that a finding can quote."""
    add_materialized(frames, {"quoted_subjects": QUOTED_SUBJECTS})
    of_quoted = {"every_event": frames["events"], **{name: frames[name] for name in ("captures", "quoted_subjects")}}
    add_materialized(of_quoted, {"events": EVENTS_OF_QUOTED})
    steps = {**QUOTED_EVENTS, **lost_request_steps(distances, quoted=True)}
    add_materialized(of_quoted, {**steps, "quoted_lines": LINES_OF_QUOTED})
    frames["quoted_lines"] = of_quoted["quoted_lines"]
    add_materialized(frames, {"failures_with_lines": FAILURES_WITH_LINES})
