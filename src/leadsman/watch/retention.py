"""Which events are kept: those that ended within the retention, counted back from the capture's newest telemetry.

Kept events are those that a diagnosis with `--since` at the horizon would read: settings, and what the reader says of
files and of writers, hold at any time. Of equal settings above the horizon, the newest is kept.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from leadsman import vocabulary as names
from leadsman.words import in_utc

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from leadsman.model import Diagnosis

RETENTION = timedelta(days=3)
"""Long enough for a weekend; 100 MB of memory for 300,000 events."""

MIN_RETENTION = timedelta(minutes=1)
"""Less would expire events before the detectors looked at them."""

HOLD_AT_ANY_TIME = (names.FILE_READ, names.FILE_NOT_UNDERSTOOD, names.SUBJECT_ACTIVE, names.SETTING)


def horizons(
    diagnoses: Iterable[Diagnosis], retention: timedelta, earlier: Mapping[str, datetime], *, now: datetime
) -> dict[str, datetime]:
    """Return for each capture the time before which events expire. It never moves back.

    A time that is later than now is a clock that jumped; it must not expire everything else.
    """
    result = dict(earlier)
    for each in diagnoses:
        if each.until is not None:
            horizon = min(each.until, now) - retention
            result[each.path] = max(result.get(each.path, horizon), horizon)
    return result


def kept_rows(events: pa.Table, horizon: datetime) -> pa.Table:
    """Return the events that ended at the horizon or later, and those that hold at any time."""
    if not events.num_rows:
        return events
    scalar: Any = pa.scalar(horizon, events.schema.field("at").type)
    is_old: Any = pc.fill_null(pc.less(events.column("at"), scalar), pa.scalar(False))
    if not pc.any(is_old).as_py():
        return events
    old = events.filter(is_old)
    kept = pa.array(_is_kept(old.select(["name", "subject", "file", "at", "labels"]).to_pylist(), horizon), pa.bool_())
    return pa.concat_tables([events.filter(pc.invert(is_old)), old.filter(kept)])


def has_recent_times(events: pa.Table, horizon: datetime) -> bool:
    """Whether any event, or any activity of a writer, is at the horizon or later."""
    columns = events.select(["at", "labels"]).to_pylist()
    return any((end := _end(row)) is not None and end >= horizon for row in columns)


def _is_kept(rows: list[dict[str, Any]], horizon: datetime) -> list[bool]:
    """Return which of the events that began before the horizon are kept."""
    newest: dict[tuple[Any, ...], int] = {}
    for number, row in enumerate(rows):
        if row["name"] == names.SETTING and row["at"] >= rows[newest.setdefault(_setting(row), number)]["at"]:
            newest[_setting(row)] = number
    settings = set(newest.values())
    return [
        number in settings
        if row["name"] == names.SETTING
        else row["name"] in HOLD_AT_ANY_TIME or (_end(row) or row["at"]) >= horizon
        for number, row in enumerate(rows)
    ]


def _setting(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what equal settings have in common: subject, file and labels."""
    return row["subject"], row["file"], *sorted(row["labels"], key=str)


def _end(row: Mapping[str, Any]) -> datetime | None:
    text = dict(row["labels"] or ()).get("until")
    try:
        return in_utc(datetime.fromisoformat(text)) if text else row["at"]
    except ValueError:
        at: datetime | None = row["at"]
        return at
