"""From events to leaders: when a broker was lost, when others led its partitions, and who led how many at any time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.leaderless_partition.consumers import LINE, OF_BROKER
from leadsman.pipeline.shapes import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

LEADERS = "leaders"
"""Outcome of a point that says how many partitions a broker leads from `since` to `at`."""

STOPPING = f"name = '{names.BROKER_STOPPING}'"
IN_ORDER = "exists(stopped, s -> s.node = f.node AND s.at <= f.at)"
"""A broker that said goodbye is fenced too, when it stays away for longer than its session."""

FENCED = f"name = '{names.BROKER_FENCED}'"
MOVED = f"name IN ({quoted(names.LEADERS_MOVED, names.BROKER_FENCED, names.PARTITION_STATE)})"
REFUSED = (
    f"name = '{names.WRITE_REFUSED}' OR labels['error'] IN ('NOT_ENOUGH_REPLICAS', 'NOT_ENOUGH_REPLICAS_AFTER_APPEND')"
)
ABANDONED = f"name = '{names.GROUP_LAG}' AND value > 0 AND labels['member'] IS NULL"
"""Nobody is left who would read what this group has not read."""

OF_HOST = f"name IN ({quoted(names.HOST_MAINTENANCE, names.CLOCK_JUMPED)})"
WHAT_HAPPENED = (
    f"struct(concat('host ', coalesce(labels['host'], subject)) AS subject, "
    f"IF(name = '{names.CLOCK_JUMPED}', 'stood still', labels['action']) AS outcome, "
    "at - make_interval(0, 0, 0, 0, 0, 0, IF(name = "
    f"'{names.CLOCK_JUMPED}', coalesce(value, 0), 0)) AS since, at, value)"
)
"""A clock is found to have leapt when its host runs again; maintenance is told when it begins."""

MAINTENANCE = f"name = '{names.HOST_MAINTENANCE}'"

STRUCK = """
    SELECT capture,
        min(trouble_at) AS struck_at,
        max(trouble_until) AS troubled_until,
        min(healed_at) AS healed_first,
        max(waited_longest) AS unanswered
    FROM consumers WHERE trouble_at IS NOT NULL GROUP BY capture
"""

HEARD = f"""
    SELECT capture, subject, name, at, file, line, text, value, labels FROM events
    WHERE name <> '{names.PARTITION_STATE}'
    UNION ALL
    SELECT DISTINCT capture, NULL, name, at, NULL, NULL, NULL, NULL, NULL FROM events
    WHERE name = '{names.PARTITION_STATE}'
"""
"""All events, but of partitions' states only the moments: a cluster can have a million partitions."""


def captures_of(*, near: float) -> Mapping[str, str]:
    """Return the steps from `events`, `struck` and `stolen` to `captures`: the loss of a broker, what else happened.

    The cluster has settled for its clients when others lead, and when no request waits on the lost broker any more: a
    frozen one keeps its connections open.
    """
    in_time = "at > struck_at + INTERVAL 1 SECOND AND at <= troubled_until + INTERVAL 2 SECONDS"
    near_loss = f"abs(CAST(at AS DOUBLE) - CAST(struck_at AS DOUBLE)) <= {near}D"
    settled = (
        "greatest(coalesce(moved_at, healed_first), struck_at + make_interval(0, 0, 0, 0, 0, 0, nullif(unanswered, 0)))"
    )
    return {
        "heard": HEARD,
        "counted": f"""
            SELECT capture,
                max(struck_at) AS struck_at,
                max(healed_first) AS healed_first,
                max(unanswered) AS unanswered,
                max(IF({MOVED} AND {in_time}, at, NULL)) AS moved_at,
                collect_list(IF({FENCED}, struct(labels['node'] AS node, at, {LINE} AS line), NULL)) AS given_up,
                collect_list(IF({STOPPING}, struct(labels['node'] AS node, at), NULL)) AS stopped,
                sum(IF(name = '{names.LEADERS_MOVED}' AND at >= struck_at, value, 0)) AS moved,
                max(IF(name = '{names.SESSION_EXPIRED}' AND at >= struck_at, value, NULL)) AS session,
                count_if({STOPPING}) AS stopping,
                count_if({MAINTENANCE} AND {near_loss}) AS maintenance,
                max(IF({MAINTENANCE} AND {near_loss}, labels['action'], NULL)) AS action,
                collect_list(IF({OF_HOST} AND {near_loss}, {LINE}, NULL)) AS host_lines,
                collect_list(IF({OF_HOST} AND {near_loss}, {WHAT_HAPPENED}, NULL)) AS at_hosts,
                max(IF(name = '{names.CLOCK_JUMPED}' AND {near_loss}, value, NULL)) AS jumped,
                count_if(name = '{names.PREFERRED_ELECTION}' AND at >= struck_at) AS refilled,
                count_if({REFUSED}) AS unreplicated,
                count(DISTINCT IF({ABANDONED}, labels['group'], NULL)) AS abandoned,
                max(IF({ABANDONED}, value, NULL)) AS behind,
                coalesce(sum(IF({OF_BROKER}, value, 0)), 0) AS broker_lines
            FROM heard LEFT JOIN struck USING (capture) GROUP BY capture
        """,
        "lost": f"""
            SELECT *, size(filter(lost, f -> f.at >= struck_at)) AS fenced, transform(lost, f -> f.line) AS fenced_lines
            FROM (SELECT *, filter(given_up, f -> NOT {IN_ORDER}) AS lost FROM counted)
        """,
        "captures": f"""
            SELECT * EXCEPT (host_lines, at_hosts), {settled} AS settled_at,
                CAST({settled} AS DOUBLE) - CAST(struck_at AS DOUBLE) AS settling_seconds,
                concat(host_lines, coalesce(stolen_lines, array())) AS host_lines,
                concat(at_hosts, coalesce(stolen_at, array())) AS at_hosts
            FROM lost LEFT JOIN stolen USING (capture)
        """,
    }


LED = f"""
    SELECT *, lag(leader) OVER (PARTITION BY capture, topic, partition ORDER BY at, line) AS before
    FROM (
        SELECT capture, at, line, labels['leader'] AS leader, labels['topic'] AS topic, labels['partition'] AS partition
        FROM events
        WHERE name = '{names.PARTITION_STATE}' AND at IS NOT NULL AND labels['leader'] IS NOT NULL
    )
"""
"""Each line or snapshot says who leads a partition from then on."""

CHANGES = """
    SELECT capture, at, broker, sum(change) AS change
    FROM (
        SELECT capture, date_trunc('SECOND', at) AS at,
            inline(array(struct(leader AS broker, 1 AS change), struct(before AS broker, -1 AS change)))
        FROM led WHERE before IS NULL OR before <> leader
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
