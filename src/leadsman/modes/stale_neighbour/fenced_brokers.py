"""Finds logs whose timeouts are explained by a broker that the controller fenced and unfenced.

A frozen broker answers no request. Timeouts of this broker alone, only while it was fenced, need no other cause. A
broker that never came back explains nothing: a replaced host is fenced too, also by hosts that have its old MAC.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.detector_sql import broker_of_node, run_steps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

BEFORE_SECONDS = 120
"""The controller fences a frozen broker late: after its session (9 to 45 s), and a client itself waits for 10 to 36
s."""

AFTER_SECONDS = 60
"""An attempt that began during the outage times out up to 36 s later (socket.connection.setup.timeout.max.ms is 30 s,
and 20 % are added at random)."""

STEPS: Mapping[str, str] = {
    "fencings": f"""
        SELECT capture, labels['node'] AS node, at, name = '{names.BROKER_FENCED}' AS fenced FROM events
        WHERE name IN ('{names.BROKER_FENCED}', '{names.BROKER_UNFENCED}') AND labels['node'] IS NOT NULL
            AND at IS NOT NULL
    """,
    "outages": """
        SELECT f.capture, f.node, f.at AS since, min(u.at) AS until
        FROM fencings AS f JOIN fencings AS u ON f.capture = u.capture AND f.node = u.node AND u.at > f.at
            AND NOT u.fenced
        WHERE f.fenced GROUP BY f.capture, f.node, f.at
    """,
    "attempts": f"""
        SELECT capture, subject, at, coalesce(labels['node'], nullif(regexp_extract(text, ':[0-9]+/([0-9]+): ', 1), ''),
            nullif(regexp_extract(text, 'node_id=([0-9]+)', 1), '')) AS node
        FROM events WHERE name = '{names.CONNECTION_SETUP_TIMED_OUT}'
    """,
    "attempts_by_broker": f"""
        SELECT capture, subject, at,
            coalesce(CAST({broker_of_node("try_cast(node AS BIGINT)")} AS STRING), node) AS node
        FROM attempts
    """,
    "evaluated_attempts": f"""
        SELECT a.capture, a.subject, a.at, a.node, count(w.node) > 0 AS explained
        FROM attempts_by_broker AS a LEFT JOIN outages AS w ON a.capture = w.capture AND a.node = w.node
            AND a.at BETWEEN w.since - INTERVAL {BEFORE_SECONDS} SECONDS AND w.until + INTERVAL {AFTER_SECONDS} SECONDS
        GROUP BY a.capture, a.subject, a.at, a.node
    """,
    "logs": "SELECT capture, subject FROM evaluated_attempts GROUP BY capture, subject HAVING bool_and(explained)",
}


def explained_logs(events: DataFrame) -> DataFrame:
    """Return the logs (capture, subject) whose timeouts are all of brokers that were fenced at that time."""
    return run_steps({"events": events}, STEPS)
