"""From the states of partitions to the number of partitions that each broker leads over time, for the page."""

from __future__ import annotations

from leadsman import vocabulary as names
from leadsman.pipeline.detector_sql import sql_literals

LEADERS = "leaders"
"""The outcome of points whose value is the number of partitions that a broker leads from `since` to `at`."""

STATES = f"name = '{names.PARTITION_STATE}'"
STATE_COLUMNS = ("capture", "at", "file", "line", "source")
STATE_LABELS = ("leader", "topic", "partition", "replicas")
PARTITION_STATES = f"""
    SELECT {", ".join(STATE_COLUMNS)}, {", ".join(f"label_{label} AS {label}" for label in STATE_LABELS)}
    FROM labelled_states WHERE label_leader IS NOT NULL
"""
"""Each line or listing shows the leader of a partition from its time on; one without a time shows it for no time."""

LED_STEPS = {
    "leaders": """
        SELECT capture, topic, partition, min(at) AS at, min(source) AS source, min(leader) AS leader,
            min(replicas) AS replicas, min(leader) <> max(leader) OR min(source) <> max(source)
                OR NOT coalesce(min(replicas) = max(replicas), max(replicas) IS NULL) AS differs
        FROM partition_states WHERE at IS NOT NULL GROUP BY capture, topic, partition
    """,
    "differing": "SELECT capture, topic, partition FROM leaders WHERE differs",
    "compared": """
        SELECT /*+ BROADCAST(differing) */ capture, at, source, topic, partition, leader, replicas,
            lag(leader) OVER (PARTITION BY capture, topic, partition ORDER BY at, file, line) AS before
        FROM partition_states LEFT SEMI JOIN differing USING (capture, topic, partition)
        WHERE at IS NOT NULL
    """,
    "led": """
        SELECT capture, at, source, topic, partition, leader, replicas, before FROM compared
        WHERE before IS NULL OR before <> leader
        UNION ALL
        SELECT capture, at, source, topic, partition, leader, replicas, CAST(NULL AS STRING) AS before FROM leaders
        WHERE NOT differs
        UNION ALL
        SELECT capture, at, source, topic, partition, leader, replicas, CAST(NULL AS STRING) AS before
        FROM partition_states WHERE at IS NULL AND leader = 'none'
    """,
}
"""From `partition_states`: the first leader of each partition, and each change, with the leader `before`. Of states
without a time, those without a leader.

Of a million partitions, all states of most are equal. Grouping those takes a tenth of comparing each with the one
before."""

CHANGES = """
    SELECT capture, at, broker, sum(change) AS change
    FROM (
        SELECT capture, date_trunc('SECOND', at) AS at,
            inline(array(struct(leader AS broker, 1 AS change), struct(before AS broker, -1 AS change)))
        FROM led WHERE at IS NOT NULL
    )
    WHERE broker IS NOT NULL AND broker <> 'none'
    GROUP BY capture, at, broker
"""
"""By the second: the elections of a large cluster fall on thousands of different milliseconds."""

LEADER_SPANS = """
    SELECT capture, concat('broker ', broker) AS subject, at AS since,
        coalesce(
            lead(at) OVER by_broker - INTERVAL 1 MILLISECOND, greatest(max(at) OVER (PARTITION BY capture),
                ended_at)
        ) AS until,
        CAST(sum(change) OVER by_broker AS DOUBLE) AS led
    FROM changes LEFT JOIN (SELECT capture, max(last_seen) AS ended_at FROM evaluated_consumers
    GROUP BY capture) USING (capture)
    WINDOW by_broker AS (PARTITION BY capture, broker ORDER BY at)
"""
"""How many partitions each broker led in each span of time: a running sum of gains and losses."""

METRIC_POINTS = f"""
    SELECT capture, concat('broker ', coalesce(labels['broker'], labels['instance'], subject)) AS subject,
        '{LEADERS}' AS outcome, CAST(NULL AS TIMESTAMP) AS since, at, value
    FROM events LEFT ANTI JOIN leader_spans USING (capture)
    WHERE name = '{names.METRIC}' AND at IS NOT NULL AND labels['metric'] RLIKE '(?i)replica_?manager_?leader_?count'
"""
"""The same number from the brokers' metric LeaderCount, for captures without metadata."""

IMBALANCE_TIMES = 200
"""Times at which brokers are compared: more than a chart has room for."""

IMBALANCE = f"""
    SELECT capture, 'cluster' AS subject, 'imbalance' AS outcome, CAST(NULL AS TIMESTAMP) AS since, moment AS at,
        max(led) / nullif(avg(led), 0) AS value
    FROM (
        SELECT DISTINCT capture, timestamp_seconds(ceil(unix_seconds(since) / nullif(step, 0)) * step) AS moment
        FROM leader_spans JOIN (
            SELECT capture,
                greatest(1, (unix_seconds(max(until)) - unix_seconds(min(since))) / {IMBALANCE_TIMES}) AS step
            FROM leader_spans GROUP BY capture
        ) USING (capture)
    ) JOIN leader_spans USING (capture)
    WHERE moment BETWEEN since AND until GROUP BY capture, moment HAVING avg(led) > 0
"""
"""The largest number of partitions that one broker leads, divided by the average: a preferred election reduces it."""

LEADER_COUNT_POINTS = f"""
    SELECT capture, subject, '{LEADERS}' AS outcome, CAST(NULL AS TIMESTAMP) AS since,
        explode(array(since, until)) AS at, led AS value
    FROM leader_spans
"""
"""Both ends of each span: between them the count is constant, and is drawn so."""

ELECTIONS = f"""
    SELECT capture, subject, CASE name
            WHEN '{names.LEADERS_MOVED}' THEN 'election'
            WHEN '{names.PREFERRED_ELECTION}' THEN 'preferred election'
            ELSE 'new controller' END AS outcome,
        CAST(NULL AS TIMESTAMP) AS since, at, value
    FROM events
    WHERE at IS NOT NULL AND (name IN ({sql_literals(names.LEADERS_MOVED, names.CONTROLLER_ELECTED)})
        OR (name = '{names.PREFERRED_ELECTION}' AND coalesce(value, 1) > 0))
"""

FAILOVER_POINTS = """
    SELECT DISTINCT capture, 'cluster' AS subject, 'failover' AS outcome, broker_lost_at AS since,
        failover_ended_at AS at,
        failover_seconds AS value
    FROM evaluated_consumers WHERE failover_ended_at > broker_lost_at
"""
