"""From partitions' states to who led how many at any time: what the page draws."""

from __future__ import annotations

from leadsman import vocabulary as names
from leadsman.pipeline.shapes import quoted

LEADERS = "leaders"
"""Outcome of a point that says how many partitions a broker leads from `since` to `at`."""

LED = f"""
    SELECT *, IF(at IS NULL, NULL, lag(leader) OVER (
            PARTITION BY capture, topic, partition, at IS NULL ORDER BY at, file, line
        )) AS before
    FROM (
        SELECT capture, at, file, line, source, labels['leader'] AS leader, labels['topic'] AS topic,
            labels['partition'] AS partition, labels['replicas'] AS replicas
        FROM events
        WHERE name = '{names.PARTITION_STATE}' AND labels['leader'] IS NOT NULL
    )
"""
"""Each line or snapshot says who leads a partition from then on; one without a time says so of no time."""

CHANGES = """
    SELECT capture, at, broker, sum(change) AS change
    FROM (
        SELECT capture, date_trunc('SECOND', at) AS at,
            inline(array(struct(leader AS broker, 1 AS change), struct(before AS broker, -1 AS change)))
        FROM led WHERE at IS NOT NULL AND (before IS NULL OR before <> leader)
    )
    WHERE broker IS NOT NULL AND broker <> 'none'
    GROUP BY capture, at, broker
"""
"""By the second: a large cluster's elections take place at thousands of different milliseconds."""

SPANS = """
    SELECT capture, concat('broker ', broker) AS subject, at AS since,
        coalesce(
            lead(at) OVER of_broker - INTERVAL 1 MILLISECOND, greatest(max(at) OVER (PARTITION BY capture), ended_at)
        ) AS until,
        CAST(sum(change) OVER of_broker AS DOUBLE) AS led
    FROM changes LEFT JOIN (SELECT capture, max(last_seen) AS ended_at FROM judged GROUP BY capture) USING (capture)
    WINDOW of_broker AS (PARTITION BY capture, broker ORDER BY at)
"""
"""How many partitions each broker led, and from when to when: a running sum of gains and losses."""

METERED = f"""
    SELECT capture, concat('broker ', coalesce(labels['broker'], labels['instance'], subject)) AS subject,
        '{LEADERS}' AS outcome, CAST(NULL AS TIMESTAMP) AS since, at, value
    FROM events LEFT ANTI JOIN spans USING (capture)
    WHERE name = '{names.METRIC}' AND at IS NOT NULL AND labels['metric'] RLIKE '(?i)replica_?manager_?leader_?count'
"""
"""The same as brokers count it themselves, for captures without metadata: the metric LeaderCount."""

IMBALANCE_TIMES = 200
"""Moments at which brokers are compared: more than a chart has room for."""

IMBALANCE = f"""
    SELECT capture, 'cluster' AS subject, 'imbalance' AS outcome, CAST(NULL AS TIMESTAMP) AS since, moment AS at,
        max(led) / avg(led) AS value
    FROM (
        SELECT DISTINCT capture, timestamp_seconds(ceil(unix_seconds(since) / step) * step) AS moment
        FROM spans JOIN (
            SELECT capture,
                greatest(1, (unix_seconds(max(until)) - unix_seconds(min(since))) / {IMBALANCE_TIMES}) AS step
            FROM spans GROUP BY capture
        ) USING (capture)
    ) JOIN spans USING (capture)
    WHERE moment BETWEEN since AND until GROUP BY capture, moment HAVING avg(led) > 0
"""
"""How many times the average the broker leads that leads most: what a preferred election evens out."""

LEADERS_OF = f"""
    SELECT capture, subject, '{LEADERS}' AS outcome, CAST(NULL AS TIMESTAMP) AS since,
        explode(array(since, until)) AS at, led AS value
    FROM spans
"""
"""Both ends of each span: between them the count stood still, and is drawn so."""

ELECTIONS = f"""
    SELECT capture, subject, CASE name
            WHEN '{names.LEADERS_MOVED}' THEN 'election'
            WHEN '{names.PREFERRED_ELECTION}' THEN 'preferred election'
            ELSE 'new controller' END AS outcome,
        CAST(NULL AS TIMESTAMP) AS since, at, value
    FROM events
    WHERE at IS NOT NULL AND (name IN ({quoted(names.LEADERS_MOVED, names.CONTROLLER_ELECTED)})
        OR (name = '{names.PREFERRED_ELECTION}' AND coalesce(value, 1) > 0))
"""

SETTLING = """
    SELECT DISTINCT capture, 'cluster' AS subject, 'settling' AS outcome, struck_at AS since, settled_at AS at,
        settling_seconds AS value
    FROM judged WHERE settled_at > struck_at
"""
