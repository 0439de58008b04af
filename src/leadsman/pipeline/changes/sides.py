"""SQL expressions that assign events to the sides before and after: around two times, or in two captures."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from leadsman.pipeline.detector_sql import sql_literals

EPOCH = datetime.fromtimestamp(0, UTC)


def by_time(before_until: datetime, after_until: datetime) -> str:
    """Before are the events up to `before_until`, after those up to `after_until`; without a time they are neither."""
    before, after = timestamp_literal(before_until), timestamp_literal(after_until)
    return f"CASE WHEN at <= {before} THEN 'before' WHEN at <= {after} THEN 'after' END"


def by_capture(first: str, second: str) -> str:
    """Before are the events of the first capture, after those of the second."""
    return f"CASE capture WHEN {sql_literals(first)} THEN 'before' WHEN {sql_literals(second)} THEN 'after' END"


def timestamp_literal(time: datetime) -> str:
    """Return a time as a Spark literal."""
    return f"timestamp_millis({round(time.timestamp() * 1000)}L)"


def at_micros(micros: int) -> datetime:
    """Return a time from Spark's microseconds; Spark's own datetimes have no zone."""
    return EPOCH + timedelta(microseconds=micros)
