"""Which events are before and which are after, as SQL: around two times, or in two captures."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from leadsman.pipeline.shapes import quoted

EPOCH = datetime.fromtimestamp(0, UTC)


def between(first: datetime, last: datetime) -> str:
    """Before is all until `first`, after is what follows until `last`. What has no time is on neither side."""
    return f"CASE WHEN at <= {moment(first)} THEN 'before' WHEN at <= {moment(last)} THEN 'after' END"


def captures(first: str, second: str) -> str:
    """Before is the one capture, after the other."""
    return f"CASE capture WHEN {quoted(first)} THEN 'before' WHEN {quoted(second)} THEN 'after' END"


def moment(time: datetime) -> str:
    """Return a time as a literal of Spark's."""
    return f"timestamp_millis({round(time.timestamp() * 1000)}L)"


def at_micros(micros: int) -> datetime:
    """Return a time that Spark gave as microseconds: its own times come without a zone."""
    return EPOCH + timedelta(microseconds=micros)
