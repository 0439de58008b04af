"""From events and failures to `gaps`: every idle gap and every span of a subject, and whether a failure followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.idle_disconnect.significance import ALARM
from leadsman.pipeline.detector_sql import LABEL, LABEL_COLUMN, sql_literals

if TYPE_CHECKING:
    from collections.abc import Mapping

HAS_BROKER_LINES = (
    f"coalesce(name = '{names.FILE_READ}' AND array_contains(split(labels['sources'], ','), 'broker'), false)"
)
"""The log of a broker: its own client lines, towards other brokers, are not evidence for this mode."""

CLOSINGS = f"""
    SELECT DISTINCT capture AS in_capture, file AS in_file, line AS in_line, labels['node'] AS node
    FROM labelled_events WHERE name = '{names.CONNECTION_CLOSED}'
"""
"""The lines about connections that were closed while no request was in flight."""

ENDS_WITH = "{0}.in_capture = gap.capture AND {0}.in_file = gap.file AND {0}.in_line = gap.line"
BEGINS_WITH = (
    "{0}.in_capture = gap.capture AND {0}.in_file = gap.{1}before_file "
    "AND {0}.in_line = try_cast(gap.{1}before_line AS BIGINT)"
)
"""SQL that joins gaps with the lines where they end and begin; their columns may have a prefix."""

FAILED_GAPS = """
    SELECT capture, subject, at, ended, min(seconds) AS idle_seconds FROM (
        SELECT capture, subject, inline(array(
            struct(gap_at AS at, 'failed' AS ended, idle_seconds AS seconds),
            struct(IF(timed_out AND gap_at < failed_at, failed_at, NULL) AS at, 'stalled' AS ended, NULL AS seconds)
        ))
        FROM lost_requests
    ) GROUP BY capture, subject, at, ended
"""

ACTIVITY = f"""
    SELECT gap.*, max({HAS_BROKER_LINES}) OVER (PARTITION BY capture, subject) AS is_broker,
        before.in_line IS NOT NULL OR after.in_line IS NOT NULL AS has_closing
    FROM labelled_events AS gap LEFT JOIN ({CLOSINGS}) AS before ON {BEGINS_WITH.format("before", "label_")}
        LEFT JOIN ({CLOSINGS}) AS after ON {ENDS_WITH.format("after")}
    WHERE name IN ({sql_literals(names.SUBJECT_IDLE, names.SUBJECT_ACTIVE, names.FILE_READ)})
"""

GAPS = f"""
    SELECT capture, subject, name, at, coalesce(idle_seconds, value) AS length, ended, file,
        try_to_timestamp(labels['since']) AS since,
        try_to_timestamp(labels['until']) AS until,
        NOT has_closing AND NOT coalesce(text RLIKE '{ALARM}', false)
            AND NOT coalesce(labels['before_text'] RLIKE '{ALARM}' AND value <= {{stall}}D, false) AS is_use
    FROM activity LEFT JOIN failed_gaps USING (capture, subject, at)
    WHERE NOT is_broker AND name <> '{names.FILE_READ}' AND coalesce(ended, '') <> 'stalled'
"""
"""Every idle gap and every span of a subject that is no broker, and whether a failure followed the gap.

The silence of a request that stalls until its timeout is the failure itself, and no idle gap. A gap that ends with a
warning does not end with an ordinary use. A gap that begins with a warning and is no longer than a stall belongs to the
failure. The line of a connection that was closed is no use of it, and what follows is no use of the same connection."""


def gap_steps(*, stall: float) -> Mapping[str, str]:
    """Return the steps from `labelled_events` and `lost_requests` to `gaps`."""
    return {
        "activity": LABEL.sub(LABEL_COLUMN, ACTIVITY),
        "failed_gaps": FAILED_GAPS,
        "gaps": LABEL.sub(LABEL_COLUMN, GAPS.format(stall=stall)),
    }
