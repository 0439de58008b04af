"""From consumers and the state of the cluster to the state of each link: a missing leader, crashed consumers.

One client that cannot reach a broker proves nothing about the cluster. A missing leader is shown by a broker that the
controller fenced, by partitions that other brokers lead only after clients had waited, by partitions without any
leader, or by several independent clients that could not use the same broker at the same time. A missing leader is ruled
out by a controller's log of that time that reports no lost broker, or by other clients that used the broker meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.modes.leaderless_partition.incidents import seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

MIN_UNAFFECTED = 2
"""If so many consumers kept their coordinator on a broker while one client could not use that broker, the broker
answered. A single consumer may have had nothing to commit."""

MIN_BROKER_LOGS = 2
"""Brokers whose logs show that the cluster was healthy: a broker that replicates from a lost broker logs its loss."""

LEADERLESS_SECONDS = (
    "CAST(coalesce(failover_ended_at, least(failing_until, timed_out_at), failing_until) AS DOUBLE) "
    "- CAST(failing_since AS DOUBLE)"
)

CONTROLLER_LOG_READ = f"""
    exists(coalesce(controllers, array()), c -> c.first <= {{begin}} AND (
        c.last >= timed_out_at OR alarms = 0
        AND size(filter(brokers_read, b -> b.first <= {{begin}} AND b.last >= timed_out_at)) >= {MIN_BROKER_LOGS}
    ))
"""
"""Whether a controller's log was read that would report a lost broker. A controller without events may log nothing for
minutes, so its log may end before the commit timed out. Then the logs of brokers must cover that time and report no
lost broker."""

AFFECTED_CONSUMERS = """
    SELECT capture, incident, explode(IF(size(brokers) = 0, array(-1L), brokers)) AS broker_id,
        new_coordinator_at, failing_since, failing_until
    FROM consumers
    WHERE commit_timeout_count > 0 OR CAST(failing_until AS DOUBLE) - CAST(failing_since AS DOUBLE) >= {min_seconds}D
"""
AFFECTED_PER_BROKER = """
    SELECT capture, incident, broker_id, count(*) AS affected,
        count_if(CAST(new_coordinator_at AS DOUBLE) - CAST(failing_since AS DOUBLE) >= {min_seconds}D)
            AS given_new_coordinator
    FROM affected_consumers GROUP BY capture, incident, broker_id
"""
"""How many consumers could not use a broker for long, and how many of them were then sent to another coordinator."""

UNAFFECTED_CONSUMERS = """
    SELECT capture, incident, coalesce(coordinator_before, get(array_sort(coordinators), 0).broker) AS broker_id,
        count(*) AS unaffected
    FROM consumers JOIN broker_losses USING (capture, incident)
    WHERE failing_since IS NULL AND commit_timeout_count = 0 AND last_seen >= clients_failing_until
        AND first_seen <= broker_lost_at
        AND NOT exists(coordinators, f -> f.broker <> coalesce(coordinator_before, get(array_sort(coordinators),
            0).broker))
    GROUP BY 1, 2, 3
"""
"""Consumers that kept the broker as their coordinator all the time, without a failure."""


def link_state_steps(*, min_seconds: float, after_seconds: float) -> Mapping[str, str]:
    """Return the steps from `consumers`, `broker_losses` and `cluster_state` to `evaluated_consumers`.

    A coordinator that could not be reached for less than `min_seconds` counts as no failure. A broker that is fenced
    up to `after_seconds` after the timeout was lost before it.
    """
    begin = "least(failing_since, commit_sent_at)"
    span = f"{begin} - INTERVAL 5 SECONDS AND timed_out_until + {seconds(str(after_seconds))}"
    named = "(size(brokers) = 0 OR array_contains(brokers, try_cast({0} AS BIGINT)))"
    controlled_shutdown = "exists(stopped, s -> array_contains(brokers, try_cast(s.node AS BIGINT)))"
    return {
        "affected_consumers": AFFECTED_CONSUMERS.format(min_seconds=min_seconds),
        "affected_per_broker": AFFECTED_PER_BROKER.format(min_seconds=min_seconds),
        "unaffected_consumers": UNAFFECTED_CONSUMERS,
        "affected_maps": """
            SELECT capture, incident, map_from_entries(collect_list(struct(broker_id, affected))) AS affected_by,
                map_from_entries(collect_list(struct(broker_id, given_new_coordinator))) AS new_coordinator_by
            FROM affected_per_broker GROUP BY capture, incident
        """,
        "unaffected_maps": """
            SELECT capture, incident, map_from_entries(collect_list(struct(broker_id, unaffected))) AS unaffected_by
            FROM unaffected_consumers WHERE broker_id IS NOT NULL GROUP BY capture, incident
        """,
        "measured_consumers": f"""
            SELECT *, {LEADERLESS_SECONDS} AS leaderless_seconds,
                {_affected("affected_by")}
                    + IF(size(brokers) > 0, coalesce(try_element_at(affected_by, -1L), 0), 0) AS affected,
                {_affected("new_coordinator_by")} AS given_new_coordinator,
                coalesce(CAST(failing_until AS DOUBLE) - CAST(failing_since AS DOUBLE) >= {min_seconds}D
                    AND (size(brokers) = 0 OR array_contains(brokers, broker)), false) AS is_affected,
                coalesce(new_coordinator_at, joined_at) AS recovered_at,
                coalesce(array_max(transform(brokers, b -> coalesce(try_element_at(unaffected_by, b), 0))),
                    0) AS unaffected,
                coalesce({controlled_shutdown}, false) AS controlled_shutdown,
                {CONTROLLER_LOG_READ.format(begin=begin)} AS controller_log_read,
                exists(lost_brokers, f -> f.at BETWEEN {span} AND {named.format("f.node")}) AS fenced_then,
                exists(coalesce(moves, array()), m -> {named.format("m.broker")} AND size(brokers) > 0
                    AND m.at BETWEEN failing_since + {seconds(str(min_seconds))}
                        AND {span.partition(" AND ")[2]}) AS moved_late,
                exists(offline_at, o -> o BETWEEN {span})
                    OR exists(coalesce(leaderless_partitions, array()), n -> coalesce(n.at BETWEEN {span}, true) AND (
                    n.is_change OR exists(brokers, b -> array_contains(n.replicas,
                        CAST(b AS STRING))))) AS saw_no_leader
            FROM consumers JOIN cluster_state USING (capture, incident)
                LEFT JOIN affected_maps USING (capture, incident) LEFT JOIN unaffected_maps USING (capture, incident)
        """,
        "consumers_with_state": f"""
            SELECT *, CASE
                WHEN commit_timeout_count = 0 THEN 'not visible'
                WHEN fenced_then OR moved_late THEN 'observed'
                WHEN controlled_shutdown THEN IF(controller_log_read, 'contradicted', 'not visible')
                WHEN saw_no_leader OR given_new_coordinator > 0 THEN 'observed'
                WHEN affected > greatest(1, unaffected) AND NOT controller_log_read THEN 'observed'
                WHEN affected <= 1 AND (controller_log_read OR unaffected >= {MIN_UNAFFECTED}) THEN 'contradicted'
                ELSE 'not visible' END AS leaderless
            FROM measured_consumers
        """,
        "evaluated_consumers": """
            SELECT *, row_number() OVER (PARTITION BY capture, subject ORDER BY
                    commit_timeout_count > 0 DESC, leaderless = 'observed' DESC, died DESC, timed_out_at DESC, incident
                ) = 1 AS is_reported,
                CASE WHEN died THEN 'observed' WHEN survived THEN 'contradicted' ELSE 'not visible' END AS died_state
            FROM consumers_with_state
        """,
    }


def _affected(by: str) -> str:
    """Return the SQL for how many consumers could not use the same broker, or name no broker.

    Of the brokers that this consumer names, the one that most consumers name counts.
    """
    named = "IF(size(brokers) = 0, array(-1L), brokers)"
    return f"coalesce(array_max(transform({named}, b -> coalesce(try_element_at({by}, b), 0))), 0)"
