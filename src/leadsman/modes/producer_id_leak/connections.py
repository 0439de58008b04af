"""From events to connections: how many clients a broker had while ids came, because a live producer keeps one open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.producer_id_leak.counts import BROKER, LINE
from leadsman.pipeline.shapes import table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CONNECTION_COUNT = "(?i)(socket_?server|kafka_?server|kafka_?network)[a-z_]*connection_?count$"
"""kafka.server:type=socket-server-metrics, attribute connection-count, one for each listener and network processor."""

CHANNEL = "org.apache.kafka.common.network.KafkaChannel"
"""The class of which a broker holds one object for each connection."""

IS_METRIC = f"(name = '{names.METRIC}' AND labels['metric'] RLIKE '{CONNECTION_COUNT}')"
IS_CHANNEL = f"(name = '{names.HEAP_CLASS}' AND labels['class'] = '{CHANNEL}')"

LOOKS = 3
"""Looks from which it can be said that connections stayed as many."""

STEPS = {
    "each": f"""
        SELECT capture, {BROKER} AS who, {IS_METRIC} AS by_metric, at, to_json(labels) AS series,
            max(IF({IS_CHANNEL}, CAST(labels['instances'] AS DOUBLE), value)) AS v,
            min(IF(line > 0, {LINE}, NULL)) AS quote
        FROM events WHERE at IS NOT NULL AND ({IS_METRIC} OR {IS_CHANNEL}) GROUP BY 1, 2, 3, 4, 5
    """,
    "at_a_time": "SELECT capture, who, by_metric, unix_millis(at) / 1000D AS t, sum(v) AS v, min(quote) AS quote"
    " FROM each GROUP BY 1, 2, 3, 4",
    "ranged": f"""
        SELECT capture, who, count(*) >= {LOOKS} AS seen, by_metric, min(t) AS since, max(t) AS until,
            percentile(v, 0.1D) AS low, percentile(v, 0.5D) AS middle, percentile(v, 0.9D) AS high,
            array_compact(array(min_by(quote, t), max_by(quote, t))) AS quotes
        FROM at_a_time GROUP BY capture, who, by_metric
    """,
    "ranked": "SELECT *, row_number() OVER (PARTITION BY capture, who ORDER BY seen DESC, by_metric DESC) AS place"
    " FROM ranged",
    "chosen": "SELECT * FROM ranked WHERE place = 1",
    "connections": """
        SELECT capture, 'broker' AS kind, who, seen, since, until, low, middle, high, quotes FROM chosen
        UNION ALL
        SELECT capture, 'topic' AS kind, '*' AS who, bool_and(seen) AS seen, max(since) AS since, min(until) AS until,
            sum(low) AS low, sum(middle) AS middle, sum(high) AS high, flatten(collect_list(quotes)) AS quotes
        FROM chosen GROUP BY capture
    """,
}


def connections_of(events: DataFrame) -> DataFrame:
    """Return one row a broker, and one of kind topic for all brokers together: how many connections they had.

    `low` and `high` leave a tenth of the looks aside on each side: a restart, a deployment. `seen`: in enough looks.
    Times are seconds since 1970.
    """
    return table({"events": events}, STEPS)
