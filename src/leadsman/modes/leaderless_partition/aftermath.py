"""What stands beside a lost broker: what stopped it, whether it is back, and how far its dead groups are behind.

A host or a file is tied to a broker by a name in an address that is that broker's alone: the host `kafka-4-example`
and the folder `kafka-4` by `kafka-4.example.net`. Another cluster's broker may have the same number: `kafka-4-other` is
not tied. Where nothing ties them, a host's maintenance is told as what it is: near in time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.leaderless_partition.consumers import LINE
from leadsman.modes.leaderless_partition.incidents import BROKER, NUMBER
from leadsman.pipeline.shapes import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

PAUSE_SECONDS = 3.0
"""An orderly change of leader takes as long: a shorter pause of a broker costs its clients no more than that."""

ADDRESSES = f"""
    SELECT capture, explode(array_distinct(array(
            coalesce(labels['address'], ''), coalesce(IF(name = '{names.BROKER_SEEN}', labels['host'], NULL), '')
        ))) AS address,
        coalesce({BROKER}, {NUMBER.format("id")}) AS broker
    FROM heard WHERE labels['address'] IS NOT NULL OR name = '{names.BROKER_SEEN}'
"""
LABELS = r"""
    SELECT capture, label, full_names, brokers[0] AS broker FROM (
        SELECT capture, label, collect_set(full_name) AS full_names, collect_set(broker) AS brokers FROM (
            SELECT capture, broker,
                lower(regexp_extract(address, '^([A-Za-z][A-Za-z0-9.-]*)', 1)) AS full_name,
                lower(regexp_extract(address, '^([A-Za-z][A-Za-z0-9-]*)', 1)) AS label
            FROM addresses_of WHERE broker >= 0
        ) WHERE label <> '' GROUP BY capture, label
    ) WHERE size(brokers) = 1
"""
"""Names that one broker alone has. An IP address is no name."""

TIED_HOST = """
    exists(full_names, n -> length(host) >= length(label) AND (
        startswith(concat(replace(n, '.', '-'), '-'), concat(replace(lower(host), '.', '-'), '-'))
        OR startswith(lower(host), concat(n, '.'))
    ))
"""
TIED_FILE = "lower(file) RLIKE concat('(^|/)', label, '([./]|$)')"

HOSTS = f"""
    SELECT capture, incident, coalesce(labels['host'], heard.subject) AS host, labels['action'] AS action, at,
        windows.broker
    FROM heard JOIN windows USING (capture)
    WHERE name = '{names.HOST_MAINTENANCE}'
        AND abs(CAST(at AS DOUBLE) - CAST(struck_at AS DOUBLE)) <= {{near}}D
"""
MAINTAINED = f"""
    SELECT capture, incident, count(*) AS maintenance,
        max_by(struct(action, host, at, tied), struct(tied, action <> 'notice', at)) AS most
    FROM (
        SELECT capture, incident, host, action, at, coalesce({TIED_HOST}, false) AS tied
        FROM hosts LEFT JOIN names_of_brokers USING (capture, broker)
    ) GROUP BY capture, incident
"""
"""The maintenance that bears most on the loss: of the broker's own host, and more than a notice."""

PAUSED = f"""
    SELECT capture, incident, max(value) AS longest,
        max_by(labels['kind'], value) AS kind,
        collect_list({LINE}) AS pause_lines
    FROM heard JOIN windows USING (capture) JOIN names_of_brokers USING (capture, broker)
    WHERE name = '{names.GC_PAUSED}' AND value >= {PAUSE_SECONDS}D AND {TIED_FILE}
        AND CAST(at AS DOUBLE) + value >= CAST(struck_at AS DOUBLE)
        AND CAST(at AS DOUBLE) - value <= CAST(troubled_until AS DOUBLE)
    GROUP BY capture, incident
"""
"""Long collections of the lost broker while clients could not use it. Some runtimes log the end, some the beginning."""

RETURNED = f"""
    SELECT capture, incident, last_fenced_at,
        IF(coalesce(unfenced_at >= last_fenced_at, true), unfenced_at, NULL) AS back_at
    FROM (
        SELECT windows.capture, incident,
            max(IF(name = '{names.BROKER_UNFENCED}', at, NULL)) AS unfenced_at,
            max(IF(name = '{names.BROKER_FENCED}', at, NULL)) AS last_fenced_at
        FROM heard JOIN windows ON heard.capture = windows.capture AND {NUMBER.format("node")} = windows.broker
        WHERE name IN ({quoted(names.BROKER_FENCED, names.BROKER_UNFENCED)}) AND at >= struck_at
        GROUP BY windows.capture, incident
    )
"""
"""When the controller took the broker in again, unless it fenced it once more after that."""

LED_BY_LOST = """
    SELECT capture, incident,
        coalesce(
            nullif(count(DISTINCT IF({lost}, part, NULL)), 0), count(DISTINCT IF({known}, part, NULL))
        ) AS led_by_lost,
        min(IF(leader = CAST(broker AS STRING) AND before <> leader AND at > troubled_until, at, NULL)) AS again_at
    FROM (
        SELECT capture, incident, broker, struck_at, troubled_until, closes, leader, before, at,
            concat_ws('-', topic, partition) AS part,
            at = max(IF(at <= struck_at, at, NULL)) OVER (PARTITION BY capture, incident, topic, partition) AS newest
        FROM led JOIN windows USING (capture) WHERE at IS NOT NULL
    ) GROUP BY capture, incident
""".format(
    lost="before = CAST(broker AS STRING) AND leader <> before AND at BETWEEN struck_at AND closes",
    known="newest AND leader = CAST(broker AS STRING)",
)
"""How many partitions the lost broker led: those that were taken from it, else those of the last listing before. A
controller's own count is of all that the broker was in sync for. And when the broker led any again."""

LAGS = f"""
    SELECT capture, labels['group'] AS of_group, labels['topic'] AS topic, labels['partition'] AS partition, at,
        coalesce(at, TIMESTAMP '1970-01-01') AS listed, value, labels['member'] AS member
    FROM heard WHERE name = '{names.GROUP_LAG}'
"""
LISTED = """
    SELECT capture, incident, of_group, topic, partition, max(at) AS at, max(value) AS value,
        max(member) AS member
    FROM (SELECT *, max(listed) OVER (PARTITION BY capture, of_group) AS last FROM lags) JOIN windows USING (capture)
    WHERE listed = last AND coalesce(at >= struck_at, true)
    GROUP BY capture, incident, of_group, topic, partition
"""
EMPTY_BEFORE = """
    SELECT DISTINCT capture, incident, of_group FROM (
        SELECT capture, of_group, at FROM lags WHERE at IS NOT NULL
        GROUP BY capture, of_group, at HAVING max(member) IS NULL
    ) JOIN windows USING (capture) WHERE at < struck_at
"""
BEHIND = """
    SELECT capture, incident, count(*) AS abandoned, sum(behind) AS behind, max(at) AS listed_at FROM (
        SELECT capture, incident, of_group, sum(value) AS behind, max(at) AS at
        FROM listed GROUP BY capture, incident, of_group HAVING max(member) IS NULL AND sum(value) > 0
    ) LEFT ANTI JOIN empty_before USING (capture, incident, of_group)
    GROUP BY capture, incident
"""
"""Groups whose last listing shows no member and some lag, and that had members before; their lag over all partitions.
Somebody who reads on is in the last listing."""


def aftermath(*, near: float) -> Mapping[str, str]:
    """Return the steps from `windows`, `heard` and `led` to `causes`, `returned`, `led_by_lost` and `behind`."""
    return {
        "addresses_of": ADDRESSES,
        "names_of_brokers": LABELS,
        "hosts": HOSTS.format(near=near),
        "maintained": MAINTAINED,
        "paused": PAUSED,
        "causes": """
            SELECT capture, incident, coalesce(maintenance, 0) AS maintenance, most.action,
                most.host AS maintained_host, most.at AS maintained_at, coalesce(most.tied, false) AS tied,
                longest AS paused, kind AS pause_kind, pause_lines
            FROM maintained FULL OUTER JOIN paused USING (capture, incident)
        """,
        "returned": RETURNED,
        "led_by_lost": LED_BY_LOST,
        "lags": LAGS,
        "listed": LISTED,
        "empty_before": EMPTY_BEFORE,
        "behind": BEHIND,
    }
