"""What a cluster shows of an incident: a broker that was fenced, leaders that moved late or are lacking, other clients.

One client that cannot reach a broker proves nothing about the cluster. So every claim here comes from the controller,
from who leads partitions, or from clients that are independent of one another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.leaderless_partition.consumers import LINE
from leadsman.modes.leaderless_partition.incidents import OF_BROKER, seconds
from leadsman.pipeline.shapes import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

FENCED, STOPPING = f"name = '{names.BROKER_FENCED}'", f"name = '{names.BROKER_STOPPING}'"
MOVED = f"name IN ({quoted(names.LEADERS_MOVED, names.BROKER_FENCED)})"
REFUSED = (
    f"name = '{names.WRITE_REFUSED}' OR labels['error'] IN ('NOT_ENOUGH_REPLICAS', 'NOT_ENOUGH_REPLICAS_AFTER_APPEND')"
)
OF_HOST = f"name IN ({quoted(names.HOST_MAINTENANCE, names.CLOCK_JUMPED)})"
WHAT_HAPPENED = (
    f"struct(concat('host ', coalesce(labels['host'], subject)) AS subject, "
    f"IF(name = '{names.CLOCK_JUMPED}', 'stood still', labels['action']) AS outcome, "
    "at - make_interval(0, 0, 0, 0, 0, 0, IF(name = "
    f"'{names.CLOCK_JUMPED}', coalesce(value, 0), 0)) AS since, at, value)"
)
"""A clock is found to have leapt when its host runs again; maintenance is reported when it begins."""

MAINTENANCE = f"name = '{names.HOST_MAINTENANCE}'"
OF_CONTROLLER = f"name IN ({quoted(names.CONTROLLER_SEEN, names.CONTROLLER_ELECTED, names.LEADERS_MOVED)})"

IN_ORDER_SECONDS = 600
IN_ORDER = f"exists(stopped, s -> s.node = f.node AND s.at BETWEEN f.at - INTERVAL {IN_ORDER_SECONDS} SECONDS AND f.at)"
"""A broker that began a controlled shutdown is fenced too, when it stays away for longer than its session."""

HOLE_SECONDS = 600
"""A controller's log has no hole where its parts lie closer together than this: a quiet one writes once in minutes."""

STRUCK_BROKER = """
    SELECT capture, incident, mode(lost_broker, true) FILTER (WHERE time_outs > 0) AS named_by_harmed,
        mode(lost_broker, true) AS named_by_all
    FROM consumers GROUP BY capture, incident
"""
STRUCK = """
    SELECT capture, incident, coalesce(named_by_harmed, named_by_all) AS broker,
        min(trouble_at) AS struck_at,
        max(trouble_until) AS troubled_until,
        min(healed_at) AS healed_first,
        collect_list(joined_at) AS joined_again,
        coalesce(max(waited_longest) FILTER (WHERE time_outs > 0), max(waited_longest)) AS unanswered
    FROM consumers JOIN struck_broker USING (capture, incident)
    WHERE trouble_at IS NOT NULL
        AND (time_outs > 0 OR array_contains(brokers, coalesce(named_by_harmed, named_by_all)))
    GROUP BY 1, 2, 3
"""
"""From when to when clients could not use the broker that most of the harmed ones name."""

SETTLES = "at > struck_at + INTERVAL 1 SECOND AND at <= troubled_until + INTERVAL 2 SECONDS"
MOVES = f"""
    SELECT capture, incident,
        max(IF(leader <> 'none' AND source = 'broker' AND {SETTLES}, at, NULL)) AS led_at,
        max(IF(leader <> 'none' AND source <> 'broker' AND {SETTLES}, at, NULL)) AS listed_led_at,
        filter(collect_list(DISTINCT IF(leader <> 'none' AND before <> leader, struct(before AS broker,
            date_trunc('SECOND', at) AS at), NULL)), m -> m.broker <> 'none') AS moves,
        collect_list(DISTINCT IF(leader = 'none', struct(
            topic = '__consumer_offsets' OR coalesce(before <> 'none', false) AS news, split(replicas, ',') AS replicas,
            date_trunc('SECOND', at) AS at), NULL)) AS lacking
    FROM led JOIN windows USING (capture)
    WHERE coalesce(at BETWEEN opens AND closes, leader = 'none')
        AND (before <> leader OR before IS NULL AND (leader = 'none' OR source = 'broker'))
    GROUP BY capture, incident
"""
"""Which brokers lost partitions when, by the second, and which partitions had no leader. What a listing shows first is
no move; that a partition has no leader is news at once. A listing without a time may be of any time; one with a time
shows only that something had happened before it."""

SPANS = """
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
    SELECT capture, subject, max({OF_CONTROLLER}) AS is_controller FROM events
    WHERE {OF_BROKER} OR {OF_CONTROLLER} GROUP BY capture, subject
"""
READ = f"""
    SELECT capture,
        flatten(collect_list(IF(is_controller, spans, NULL))) AS controllers,
        flatten(collect_list(IF(is_controller, NULL, spans))) AS brokers_read
    FROM (
        SELECT capture, subject, any_value(is_controller) AS is_controller, {SPANS} AS spans
        FROM (
            SELECT capture, subject, at, to_timestamp(labels['until']) AS until FROM events
            WHERE name = '{names.SUBJECT_ACTIVE}'
        ) JOIN broker_logs USING (capture, subject)
        GROUP BY capture, subject
    ) GROUP BY capture
"""
"""From when to when logs of controllers were read, and of brokers."""

HEARD = f"""
    SELECT events.capture, events.subject, name, at, file, line, text, value, labels,
        is_controller IS NOT NULL AS of_broker
    FROM events LEFT JOIN broker_logs ON broker_logs.capture = events.capture AND broker_logs.subject = events.subject
    WHERE name <> '{names.PARTITION_STATE}' OR source = 'broker'
"""
"""All events but listings of partitions: a cluster can have a million partitions."""

ALARMS = (names.CONNECTION_LOST, names.CONNECTION_REFUSED, names.ISR_SHRUNK, names.PARTITION_STATE)
"""What brokers write when one of them is lost."""


def cluster_of(*, near: float) -> Mapping[str, str]:
    """Return the steps to `seen`: one row an incident.

    From `windows`, `heard`, `moved`, `logs_read`, `stolen` and the steps of `aftermath`.
    The cluster has settled for its clients when others lead, and when no request waits on the lost broker any more: a
    frozen one keeps its connections open. Where nothing shows that anybody leads, it is not known when.
    """
    near_loss = f"abs(CAST(at AS DOUBLE) - CAST(struck_at AS DOUBLE)) <= {near}D"
    within = "at BETWEEN opens AND closes"
    read = "at <= closes AND coalesce(to_timestamp(labels['until']), at) >= opens"
    after = "CAST(array_min(transform(lost, f -> f.at)) AS DOUBLE) - CAST(struck_at AS DOUBLE)"
    joined_first = "array_min(filter(joined_again, t -> t > troubled_until))"
    moved_at = f"coalesce(greatest(fenced_at, led_at), listed_led_at, healed_first, {joined_first})"
    return {
        "counted": f"""
            SELECT capture, incident,
                any_value(opens) AS opens, any_value(closes) AS closes, max(broker) AS broker,
                max(struck_at) AS struck_at, max(troubled_until) AS troubled_until,
                max(healed_first) AS healed_first, max(unanswered) AS unanswered,
                any_value(joined_again) AS joined_again,
                coalesce(
                    max(IF({MOVED} AND {SETTLES}, at, NULL)),
                    min(IF({MOVED} AND at > struck_at AND {within}, at, NULL))
                ) AS fenced_at,
                collect_list(IF({FENCED} AND {within}, struct(
                    labels['node'] AS node, at, {LINE} AS line, text LIKE '%deleted brokers%' AS removed), NULL))
                    AS given_up,
                collect_list(IF({STOPPING} AND at BETWEEN opens - {seconds(str(IN_ORDER_SECONDS))} AND closes,
                    struct(labels['node'] AS node, at), NULL)) AS stopped,
                sum(IF(name = '{names.LEADERS_MOVED}' AND at >= struck_at AND {within}, value, 0)) AS moved,
                max(IF(name = '{names.SESSION_EXPIRED}' AND at >= struck_at AND {within}, value, NULL)) AS session,
                collect_list(IF({OF_HOST} AND {near_loss}, {LINE}, NULL)) AS host_told,
                collect_list(IF({OF_HOST} AND {near_loss}, {WHAT_HAPPENED}, NULL)) AS host_moments,
                max(IF(name = '{names.CLOCK_JUMPED}' AND {near_loss}, value, NULL)) AS jumped,
                count_if(name = '{names.PREFERRED_ELECTION}' AND at >= struck_at AND {within}) AS refilled,
                collect_set(IF(name = '{names.PARTITION_OFFLINE}' AND {within}, date_trunc('SECOND', at), NULL))
                    AS offline_at,
                count_if(({REFUSED}) AND coalesce({within}, true)) AS unreplicated,
                count(DISTINCT IF(of_broker AND name = '{names.SUBJECT_ACTIVE}' AND {read}, heard.subject, NULL))
                    AS broker_logs,
                count_if(of_broker AND name IN ({quoted(*ALARMS)}) AND {within}) AS alarms
            FROM heard JOIN windows USING (capture) GROUP BY capture, incident
        """,
        "lost": f"""
            SELECT *, size(lost) AS fenced, transform(lost, f -> f.line) AS fenced_lines,
                exists(lost, f -> f.removed) AS of_zookeeper,
                greatest(0, IF(size(array_distinct(transform(lost, f -> f.node))) = 1
                    AND try_element_at(lost, 1).node = CAST(broker AS STRING), {after}, NULL)) AS fenced_after,
                IF({moved_at} IS NULL, NULL, greatest({moved_at}, struck_at + {seconds("nullif(unanswered, 0)")}))
                    AS settled_at
            FROM (SELECT *, filter(given_up, f -> NOT {IN_ORDER}) AS lost FROM counted)
                LEFT JOIN moved USING (capture, incident)
        """,
        "seen": """
            SELECT *,
                CAST(settled_at AS DOUBLE) - CAST(struck_at AS DOUBLE) AS settling_seconds,
                concat(host_told, coalesce(stolen_lines, array()), coalesce(pause_lines, array())) AS host_lines,
                concat(host_moments, coalesce(stolen_at, array())) AS at_hosts
            FROM lost LEFT JOIN stolen USING (capture, incident) LEFT JOIN causes USING (capture, incident)
                LEFT JOIN returned USING (capture, incident) LEFT JOIN led_by_lost USING (capture, incident)
                LEFT JOIN behind USING (capture, incident) LEFT JOIN logs_read USING (capture)
        """,
    }
