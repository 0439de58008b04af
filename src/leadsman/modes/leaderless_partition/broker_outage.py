"""The outage of a lost broker: its cause, the broker's return, and the lag of groups that lost their members.

A host or a file belongs to a broker if its name appears in an address that only this broker has: the host
`kafka-4-example` and the folder `kafka-4` belong to the broker at `kafka-4.example.net`. A broker of another cluster
may have the same number, so `kafka-4-other` does not belong to that broker. Maintenance of a host that belongs to no
broker is reported only as close in time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.leaderless_partition.incidents import BROKER, NUMBER
from leadsman.pipeline.detector_sql import EVIDENCE_LINE, sql_literals

if TYPE_CHECKING:
    from collections.abc import Mapping

MIN_GC_PAUSE_SECONDS = 3.0
"""An orderly change of leader takes about as long: a shorter pause of a broker harms its clients no more than that."""

ADDRESSES = f"""
    SELECT capture, explode(array_distinct(array(
            coalesce(labels['address'], ''), coalesce(IF(name = '{names.BROKER_SEEN}', labels['host'], NULL), '')
        ))) AS address,
        coalesce({BROKER}, {NUMBER.format("id")}) AS broker
    FROM cluster_events WHERE labels['address'] IS NOT NULL OR name = '{names.BROKER_SEEN}'
"""
BROKER_NAMES = r"""
    SELECT capture, short_name, full_names, get(brokers, 0) AS broker FROM (
        SELECT capture, short_name, collect_set(full_name) AS full_names, collect_set(broker) AS brokers FROM (
            SELECT capture, broker,
                lower(regexp_extract(address, '^([A-Za-z][A-Za-z0-9.-]*)', 1)) AS full_name,
                lower(regexp_extract(address, '^([A-Za-z][A-Za-z0-9-]*)', 1)) AS short_name
            FROM broker_addresses WHERE broker >= 0
        ) WHERE short_name <> '' GROUP BY capture, short_name
    ) WHERE size(brokers) = 1
"""
"""Names of hosts that only one broker has, without their domain as `short_name`. An IP address is no name."""

IS_BROKER_HOST = """
    exists(full_names, n -> length(host) >= length(short_name) AND (
        startswith(concat(replace(n, '.', '-'), '-'), concat(replace(lower(host), '.', '-'), '-'))
        OR startswith(lower(host), concat(n, '.'))
    ))
"""
IS_FILE_OF_BROKER = "lower(file) RLIKE concat('(^|/)', short_name, '([./]|$)')"

HOST_MAINTENANCE_NEAR_LOSS = f"""
    SELECT capture, incident, coalesce(labels['host'], cluster_events.subject) AS host, labels['action'] AS action, at,
        windows.broker
    FROM cluster_events JOIN windows USING (capture)
    WHERE name = '{names.HOST_MAINTENANCE}'
        AND abs(CAST(at AS DOUBLE) - CAST(broker_lost_at AS DOUBLE)) <= {{near_seconds}}D
"""
MAINTENANCE_COUNTS = f"""
    SELECT capture, incident, count(*) AS maintenance,
        max_by(struct(action, host, at, is_same_host), struct(is_same_host, action <> 'notice', at)) AS most_relevant
    FROM (
        SELECT capture, incident, host, action, at, coalesce({IS_BROKER_HOST}, false) AS is_same_host
        FROM host_maintenance LEFT JOIN broker_names USING (capture, broker)
    ) GROUP BY capture, incident
"""
"""The most relevant maintenance: that of the broker's own host first, and actual maintenance before a notice."""

GC_PAUSES = f"""
    SELECT capture, incident, max(value) AS longest,
        max_by(labels['kind'], value) AS kind,
        collect_list({EVIDENCE_LINE}) AS gc_lines
    FROM cluster_events JOIN windows USING (capture) JOIN broker_names USING (capture, broker)
    WHERE name = '{names.GC_PAUSED}' AND value >= {MIN_GC_PAUSE_SECONDS}D AND {IS_FILE_OF_BROKER}
        AND CAST(at AS DOUBLE) + value >= CAST(broker_lost_at AS DOUBLE)
        AND CAST(at AS DOUBLE) - value <= CAST(clients_failing_until AS DOUBLE)
    GROUP BY capture, incident
"""
"""Long garbage collections of the lost broker while its clients failed. Some JVMs log the end, some the beginning."""

BROKER_RETURNS = f"""
    SELECT capture, incident, last_fenced_at,
        IF(coalesce(unfenced_at >= last_fenced_at, true), unfenced_at, NULL) AS returned_at
    FROM (
        SELECT windows.capture, incident,
            max(IF(name = '{names.BROKER_UNFENCED}', at, NULL)) AS unfenced_at,
            max(IF(name = '{names.BROKER_FENCED}', at, NULL)) AS last_fenced_at
        FROM cluster_events JOIN windows ON cluster_events.capture = windows.capture
            AND {NUMBER.format("node")} = windows.broker
        WHERE name IN ({sql_literals(names.BROKER_FENCED, names.BROKER_UNFENCED)}) AND at >= broker_lost_at
        GROUP BY windows.capture, incident
    )
"""
"""When the controller unfenced the broker, unless the controller fenced the broker again later."""

PARTITIONS_LED = """
    SELECT capture, incident,
        coalesce(nullif(count_if(was_lost), 0), count_if(coalesce(led_from >= led_until, led_from IS NOT NULL)))
            AS partitions_led,
        min(leading_again_at) AS leading_again_at
    FROM (
        SELECT capture, incident, bool_or(moved AND at BETWEEN broker_lost_at AND closes) AS was_lost,
            max(IF(leads AND at <= broker_lost_at, at, NULL)) AS led_from,
            max(IF(moved AND at <= broker_lost_at, at, NULL)) AS led_until,
            min(IF(leads AND before IS NOT NULL AND at > clients_failing_until, at, NULL)) AS leading_again_at
        FROM (
            SELECT *, coalesce(leader = CAST(broker AS STRING), false) AS leads,
                coalesce(before = CAST(broker AS STRING), false) AS moved
            FROM led JOIN windows USING (capture) WHERE at IS NOT NULL
        ) GROUP BY capture, incident, IF(leads OR moved, concat_ws('-', topic, partition), NULL)
    ) GROUP BY capture, incident
"""
"""How many partitions the lost broker led: those that moved to other leaders, else those of the last listing before the
loss. The controller's own count includes all partitions whose ISR contained the broker. `leading_again_at` is when the
broker led a partition again."""

LAGS = f"""
    SELECT capture, labels['group'] AS group_id, labels['topic'] AS topic, labels['partition'] AS partition, at,
        coalesce(at, TIMESTAMP '1970-01-01') AS listed_at_or_epoch, value, labels['member'] AS member
    FROM cluster_events WHERE name = '{names.GROUP_LAG}'
"""
LAST_LISTINGS = """
    SELECT capture, incident, group_id, topic, partition, max(at) AS at, max(value) AS value,
        max(member) AS member
    FROM (SELECT *, max(listed_at_or_epoch) OVER (PARTITION BY capture, group_id) AS last FROM lags)
        JOIN windows USING (capture)
    WHERE listed_at_or_epoch = last AND coalesce(at >= broker_lost_at, true)
    GROUP BY capture, incident, group_id, topic, partition
"""
EMPTY_GROUPS_BEFORE = """
    SELECT DISTINCT capture, incident, group_id FROM (
        SELECT capture, group_id, at FROM lags WHERE at IS NOT NULL
        GROUP BY capture, group_id, at HAVING max(member) IS NULL
    ) JOIN windows USING (capture) WHERE at < broker_lost_at
"""
GROUP_LAG = """
    SELECT capture, incident, count(*) AS groups_without_members, sum(lag_records) AS lag_records, max(at) AS listed_at
    FROM (
        SELECT capture, incident, group_id, sum(value) AS lag_records, max(at) AS at
        FROM last_listings GROUP BY capture, incident, group_id HAVING max(member) IS NULL AND sum(value) > 0
    ) LEFT ANTI JOIN empty_groups_before USING (capture, incident, group_id)
    GROUP BY capture, incident
"""
"""Groups whose last listing shows no member and some lag, and that had members before; their lag over all partitions.
A consumer that still reads is a member in the last listing."""


def broker_outage_steps(*, near_seconds: float) -> Mapping[str, str]:
    """Return the steps from `windows`, `cluster_events` and `led`.

    They end in `outage_causes`, `broker_returns`, `led_partitions` and `group_lag`. Maintenance counts within
    `near_seconds` of the loss of the broker.
    """
    return {
        "broker_addresses": ADDRESSES,
        "broker_names": BROKER_NAMES,
        "host_maintenance": HOST_MAINTENANCE_NEAR_LOSS.format(near_seconds=near_seconds),
        "maintenance_counts": MAINTENANCE_COUNTS,
        "gc_pauses": GC_PAUSES,
        "outage_causes": """
            SELECT capture, incident, coalesce(maintenance, 0) AS maintenance, most_relevant.action,
                most_relevant.host AS maintenance_host, most_relevant.at AS maintenance_at,
                    coalesce(most_relevant.is_same_host, false) AS is_same_host,
                longest AS gc_pause, kind AS gc_kind, gc_lines
            FROM maintenance_counts FULL OUTER JOIN gc_pauses USING (capture, incident)
        """,
        "broker_returns": BROKER_RETURNS,
        "led_partitions": PARTITIONS_LED,
        "lags": LAGS,
        "last_listings": LAST_LISTINGS,
        "empty_groups_before": EMPTY_GROUPS_BEFORE,
        "group_lag": GROUP_LAG,
    }
