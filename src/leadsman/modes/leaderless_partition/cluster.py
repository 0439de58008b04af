"""The state of the cluster during an incident: fenced brokers, late or missing leaders, other clients.

One client that cannot reach a broker proves nothing about the cluster. So every statement here comes from the
controller, from the leaders of partitions, or from several independent clients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.leaderless_partition.incidents import HAS_BROKER_LINES, seconds
from leadsman.pipeline.detector_sql import EVIDENCE_LINE, sql_literals

if TYPE_CHECKING:
    from collections.abc import Mapping

FENCED, STOPPING = f"name = '{names.BROKER_FENCED}'", f"name = '{names.BROKER_STOPPING}'"
HAS_LEADER_CHANGE = f"name IN ({sql_literals(names.LEADERS_MOVED, names.BROKER_FENCED)})"
IS_REFUSED_WRITE = (
    f"name = '{names.WRITE_REFUSED}' OR labels['error'] IN ('NOT_ENOUGH_REPLICAS', 'NOT_ENOUGH_REPLICAS_AFTER_APPEND')"
)
HOST_EVENTS = f"name IN ({sql_literals(names.HOST_MAINTENANCE, names.CLOCK_JUMPED)})"
HOST_EVENT = (
    f"struct(concat('host ', coalesce(labels['host'], subject)) AS subject, "
    f"IF(name = '{names.CLOCK_JUMPED}', 'clock jump', labels['action']) AS outcome, "
    "at - make_interval(0, 0, 0, 0, 0, 0, IF(name = "
    f"'{names.CLOCK_JUMPED}', coalesce(value, 0), 0)) AS since, at, value)"
)
"""A clock jump is logged when the host runs again; maintenance is reported when it begins."""

MAINTENANCE = f"name = '{names.HOST_MAINTENANCE}'"
IS_CONTROLLER_EVENT = f"name IN ({sql_literals(names.CONTROLLER_SEEN, names.CONTROLLER_ELECTED, names.LEADERS_MOVED)})"

ORDERLY_SECONDS = 600
IS_ORDERLY = (
    f"exists(stopped, s -> s.node = f.node AND s.at BETWEEN f.at - INTERVAL {ORDERLY_SECONDS} SECONDS AND f.at)"
)
"""After a controlled shutdown a broker is fenced too, when it is down for longer than its session."""

HOLE_SECONDS = 600
"""Parts of a controller's log that are closer together than this leave no hole: without events a controller logs only
every few minutes."""

NAMED_BROKERS = """
    SELECT capture, incident, mode(lost_broker, true) FILTER (WHERE commit_timeout_count > 0) AS named_by_harmed,
        mode(lost_broker, true) AS named_by_all
    FROM consumers GROUP BY capture, incident
"""
BROKER_LOSSES = """
    SELECT capture, incident, coalesce(named_by_harmed, named_by_all) AS broker,
        min(failing_since) AS broker_lost_at,
        max(failing_until) AS clients_failing_until,
        min(new_coordinator_at) AS first_recovery_at,
        collect_list(joined_at) AS rejoined_at,
        coalesce(max(longest_wait) FILTER (WHERE commit_timeout_count > 0), max(longest_wait)) AS longest_unanswered
    FROM consumers JOIN named_brokers USING (capture, incident)
    WHERE failing_since IS NOT NULL
        AND (commit_timeout_count > 0 OR array_contains(brokers, coalesce(named_by_harmed, named_by_all)))
    GROUP BY 1, 2, 3
"""
"""From when to when clients could not use the broker that most of the harmed clients name."""

DURING_FAILOVER = "at > broker_lost_at + INTERVAL 1 SECOND AND at <= clients_failing_until + INTERVAL 2 SECONDS"
LEADER_CHANGES = f"""
    SELECT capture, incident,
        max(IF(leader <> 'none' AND source = 'broker' AND {DURING_FAILOVER}, at, NULL)) AS led_at,
        max(IF(leader <> 'none' AND source <> 'broker' AND {DURING_FAILOVER}, at, NULL)) AS listed_led_at,
        filter(collect_list(DISTINCT IF(leader <> 'none' AND before <> leader, struct(before AS broker,
            date_trunc('SECOND', at) AS at), NULL)), m -> m.broker <> 'none') AS moves,
        collect_list(DISTINCT IF(leader = 'none', struct(
            topic = '__consumer_offsets' OR coalesce(before <> 'none', false) AS is_change, split(replicas,
                ',') AS replicas,
            date_trunc('SECOND', at) AS at), NULL)) AS leaderless_partitions
    FROM led JOIN windows USING (capture)
    WHERE coalesce(at BETWEEN opens AND closes, leader = 'none')
        AND (before IS NOT NULL OR leader = 'none' OR source = 'broker')
    GROUP BY capture, incident
"""
"""Which brokers lost the lead of partitions, by the second, and which partitions had no leader. The first state that a
listing shows is no change of leader; a partition without a leader counts at once. A listing without a time may be of
any time; a listing with a time shows only that the change happened before it."""

MERGED_SPANS = """
    aggregate(
        array_sort(collect_list(struct(at AS first, until AS last))),
        CAST(array() AS array<struct<first:timestamp,last:timestamp>>),
        (parts, part) -> IF(
            part.first <= try_element_at(parts, -1).last + INTERVAL {hole} SECONDS,
            concat(slice(parts, 1, size(parts) - 1), array(struct(
                try_element_at(parts, -1).first AS first, greatest(try_element_at(parts, -1).last, part.last) AS last
            ))),
            concat(parts, array(part))
        )
    )
""".replace("{hole}", str(HOLE_SECONDS))

BROKER_LOGS = f"""
    SELECT capture, subject, max({IS_CONTROLLER_EVENT}) AS is_controller FROM events
    WHERE {HAS_BROKER_LINES} OR {IS_CONTROLLER_EVENT} GROUP BY capture, subject
"""
LOG_SPANS = f"""
    SELECT capture,
        flatten(collect_list(IF(is_controller, merged_spans, NULL))) AS controllers,
        flatten(collect_list(IF(is_controller, NULL, merged_spans))) AS brokers_read
    FROM (
        SELECT capture, subject, any_value(is_controller) AS is_controller, {MERGED_SPANS} AS merged_spans
        FROM (
            SELECT capture, subject, at, try_to_timestamp(labels['until']) AS until FROM events
            WHERE name = '{names.SUBJECT_ACTIVE}'
        ) JOIN broker_logs USING (capture, subject)
        GROUP BY capture, subject
    ) GROUP BY capture
"""
"""The spans of time that the logs of controllers and of brokers cover."""

CLUSTER_EVENTS = f"""
    SELECT events.capture, events.subject, name, at, file, line, text, value, labels,
        is_controller IS NOT NULL AS is_broker_log
    FROM events LEFT JOIN broker_logs ON broker_logs.capture = events.capture AND broker_logs.subject = events.subject
    WHERE name <> '{names.PARTITION_STATE}' OR source = 'broker'
"""
"""All events except listings of partitions: a cluster can have a million partitions."""

ALARMS = (names.CONNECTION_LOST, names.CONNECTION_REFUSED, names.ISR_SHRUNK, names.PARTITION_STATE)
"""Events that brokers log when another broker is lost."""


def cluster_state_steps(*, near_seconds: float) -> Mapping[str, str]:
    """Return the steps to `cluster_state`: one row for each incident.

    They read `windows`, `cluster_events`, `leader_changes`, `logs_read`, `cpu_steal` and the steps of
    `broker_outage_steps`. The failover has ended for the clients when other brokers lead, and when no request waits on
    the lost broker any more: a frozen broker keeps its connections open. `failover_ended_at` is null where no event
    shows that a broker leads.
    """
    near_loss = f"abs(CAST(at AS DOUBLE) - CAST(broker_lost_at AS DOUBLE)) <= {near_seconds}D"
    within = "at BETWEEN opens AND closes"
    read = "at <= closes AND coalesce(try_to_timestamp(labels['until']), at) >= opens"
    after = "CAST(array_min(transform(lost_brokers, f -> f.at)) AS DOUBLE) - CAST(broker_lost_at AS DOUBLE)"
    joined_first = "array_min(filter(rejoined_at, t -> t > clients_failing_until))"
    moved_at = f"coalesce(greatest(fenced_at, led_at), listed_led_at, first_recovery_at, {joined_first})"
    return {
        "incident_counts": f"""
            SELECT capture, incident,
                any_value(opens) AS opens, any_value(closes) AS closes, max(broker) AS broker,
                max(broker_lost_at) AS broker_lost_at, max(clients_failing_until) AS clients_failing_until,
                max(first_recovery_at) AS first_recovery_at, max(longest_unanswered) AS longest_unanswered,
                any_value(rejoined_at) AS rejoined_at,
                coalesce(
                    max(IF({HAS_LEADER_CHANGE} AND {DURING_FAILOVER}, at, NULL)),
                    min(IF({HAS_LEADER_CHANGE} AND at > broker_lost_at AND {within}, at, NULL))
                ) AS fenced_at,
                collect_list(IF({FENCED} AND {within}, struct(
                    labels['node'] AS node, at, {EVIDENCE_LINE} AS line,
                    text LIKE '%deleted brokers%' AS removed), NULL)) AS fenced_brokers,
                collect_list(IF({STOPPING} AND at BETWEEN opens - {seconds(str(ORDERLY_SECONDS))} AND closes,
                    struct(labels['node'] AS node, at), NULL)) AS stopped,
                sum(IF(name = '{names.LEADERS_MOVED}' AND at >= broker_lost_at AND {within}, value,
                    0)) AS partitions_moved,
                max(IF(name = '{names.SESSION_EXPIRED}' AND at >= broker_lost_at AND {within}, value, NULL)) AS session,
                collect_list(IF({HOST_EVENTS} AND {near_loss}, {EVIDENCE_LINE}, NULL)) AS host_event_lines,
                collect_list(IF({HOST_EVENTS} AND {near_loss}, {HOST_EVENT}, NULL)) AS host_events,
                max(IF(name = '{names.CLOCK_JUMPED}' AND {near_loss}, value, NULL)) AS clock_jump,
                count_if(name = '{names.PREFERRED_ELECTION}' AND at >= broker_lost_at
                    AND {within}) AS preferred_elections,
                collect_set(IF(name = '{names.PARTITION_OFFLINE}' AND {within}, date_trunc('SECOND', at), NULL))
                    AS offline_at,
                count_if(({IS_REFUSED_WRITE}) AND coalesce({within}, true)) AS refused_writes,
                count(DISTINCT IF(is_broker_log AND name = '{names.SUBJECT_ACTIVE}' AND {read}, cluster_events.subject,
                    NULL))
                    AS broker_logs,
                count_if(is_broker_log AND name IN ({sql_literals(*ALARMS)}) AND {within}) AS alarms
            FROM cluster_events JOIN windows USING (capture) GROUP BY capture, incident
        """,
        "fencings": f"""
            SELECT *, size(lost_brokers) AS fenced, transform(lost_brokers, f -> f.line) AS fenced_lines,
                exists(lost_brokers, f -> f.removed) AS is_zookeeper,
                greatest(0, IF(size(array_distinct(transform(lost_brokers, f -> f.node))) = 1
                    AND try_element_at(lost_brokers, 1).node = CAST(broker AS STRING), {after}, NULL)) AS fenced_after,
                IF({moved_at} IS NULL, NULL, greatest({moved_at},
                    broker_lost_at + {seconds("nullif(longest_unanswered, 0)")}))
                    AS failover_ended_at
            FROM (SELECT *, filter(fenced_brokers, f -> NOT {IS_ORDERLY}) AS lost_brokers FROM incident_counts)
                LEFT JOIN leader_changes USING (capture, incident)
        """,
        "cluster_state": """
            SELECT *,
                CAST(failover_ended_at AS DOUBLE) - CAST(broker_lost_at AS DOUBLE) AS failover_seconds,
                concat(host_event_lines, coalesce(steal_lines, array()), coalesce(gc_lines, array())) AS host_lines,
                concat(host_events, coalesce(steal_points, array())) AS host_points
            FROM fencings LEFT JOIN cpu_steal USING (capture, incident)
                LEFT JOIN outage_causes USING (capture, incident)
                LEFT JOIN broker_returns USING (capture, incident) LEFT JOIN led_partitions USING (capture, incident)
                LEFT JOIN group_lag USING (capture, incident) LEFT JOIN logs_read USING (capture)
        """,
    }
