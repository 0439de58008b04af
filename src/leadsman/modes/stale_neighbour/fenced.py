"""Logs whose time-outs a broker explains that the controller had fenced, and took in again.

A broker that stands still answers nobody. What failed only with it, and only while it was away, needs no other cause.
One that never came back explains nothing: a host that was replaced is fenced, too, by hosts that hold its old MAC.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.shapes import table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

BEFORE_SECONDS = 120
"""The controller hears of a silent broker late: after its session (9 to 45 s), and a client waits 10 to 36 s itself."""

AFTER_SECONDS = 60
"""An attempt that began while the broker was away times out up to 36 s later (socket.connection.setup.timeout.max.ms
is 30 s, and 20 % are added at random)."""

LARGEST, COORDINATORS = 2_147_483_647, 2_147_000_000
"""A Java consumer calls the coordinator of its group by the largest integer less the broker's id."""

STEPS: Mapping[str, str] = {
    "turns": f"""
        SELECT capture, labels['node'] AS node, at, name = '{names.BROKER_FENCED}' AS fenced FROM events
        WHERE name IN ('{names.BROKER_FENCED}', '{names.BROKER_UNFENCED}') AND labels['node'] IS NOT NULL
            AND at IS NOT NULL
    """,
    "away": """
        SELECT f.capture, f.node, f.at AS since, min(u.at) AS until
        FROM turns AS f JOIN turns AS u ON f.capture = u.capture AND f.node = u.node AND u.at > f.at AND NOT u.fenced
        WHERE f.fenced GROUP BY f.capture, f.node, f.at
    """,
    "attempts": f"""
        SELECT capture, subject, at, coalesce(labels['node'], nullif(regexp_extract(text, ':[0-9]+/([0-9]+): ', 1), ''),
            nullif(regexp_extract(text, 'node_id=([0-9]+)', 1), '')) AS node
        FROM events WHERE name = '{names.CONNECTION_SETUP_TIMED_OUT}'
    """,
    "brokers": f"""
        SELECT capture, subject, at, IF(try_cast(node AS BIGINT) > {COORDINATORS},
            CAST({LARGEST} - try_cast(node AS BIGINT) AS STRING), node) AS node
        FROM attempts
    """,
    "judged": f"""
        SELECT a.capture, a.subject, a.at, a.node, count(w.node) > 0 AS explained
        FROM brokers AS a LEFT JOIN away AS w ON a.capture = w.capture AND a.node = w.node
            AND a.at BETWEEN w.since - INTERVAL {BEFORE_SECONDS} SECONDS AND w.until + INTERVAL {AFTER_SECONDS} SECONDS
        GROUP BY a.capture, a.subject, a.at, a.node
    """,
    "logs": "SELECT capture, subject FROM judged GROUP BY capture, subject HAVING bool_and(explained)",
}


def explained_of(events: DataFrame) -> DataFrame:
    """Return the logs (capture, subject) all of whose time-outs are of brokers that were fenced at that time."""
    return table({"events": events}, STEPS)
