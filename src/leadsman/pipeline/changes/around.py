"""Finds what changed around the time at which a finding began."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leadsman.pipeline.changes import sides
from leadsman.pipeline.changes.compare import compare
from leadsman.pipeline.changes.compared_states import LISTINGS
from leadsman.pipeline.detector_sql import sql_columns, sql_literals
from leadsman.words import in_utc

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from pyspark.sql import DataFrame

    from leadsman.model import Change, FailureMode, Finding
    from leadsman.pipeline.verdict.decide import Observation

MARGIN = 0.05
"""Share of the finding's duration. A deployment precedes the failure that it causes by its start-up time alone."""

SNAPSHOT_SOURCES = (*LISTINGS, "kafka_producers", "class_histogram")
"""Sources of snapshots: the first snapshot after the beginning shows what is new."""


def onset_time(card: FailureMode, observations: Iterable[Observation]) -> datetime | None:
    """Return when the finding began: the earliest start of the link that the card names."""
    return min(
        (each.since for each in observations if card.onset and each.link == card.onset and each.since), default=None
    )


def changes_around(events: DataFrame, finding: Finding, began: datetime) -> tuple[Change, ...]:
    """Return what changed from a little before `began` to a little after, or to the next snapshot."""
    assert finding.since is not None
    assert finding.until is not None
    margin = max(timedelta(seconds=1), MARGIN * (finding.until - finding.since))
    start = in_utc(began)  # Spark's datetimes have no zone
    after = max(start + margin, _next_snapshot(events, start) or start)
    return compare(events, sides.by_time(start - margin, after)).changes


def _next_snapshot(events: DataFrame, began: datetime) -> datetime | None:
    snapshots = events.where(f"source IN ({sql_literals(*SNAPSHOT_SOURCES)}) AND at > {sides.timestamp_literal(began)}")
    (row,) = snapshots.agg(*sql_columns("unix_micros(min(at)) AS next")).collect()
    return None if row["next"] is None else sides.at_micros(row["next"])
