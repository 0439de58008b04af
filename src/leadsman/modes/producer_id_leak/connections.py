"""From events to connections: how many clients a broker had while ids came. A live producer keeps a connection open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.modes.producer_id_leak.id_counts import BROKER
from leadsman.pipeline.detector_sql import EVIDENCE_LINE, run_steps

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CONNECTION_COUNT = "(?i)(socket_?server|kafka_?server|kafka_?network)[a-z_]*connection_?count$"
"""kafka.server:type=socket-server-metrics, attribute connection-count, one for each listener and network processor."""

CHANNEL = "org.apache.kafka.common.network.KafkaChannel"
"""The class of which a broker has one object for each connection."""

IS_METRIC = f"(name = '{names.METRIC}' AND labels['metric'] RLIKE '{CONNECTION_COUNT}')"
IS_CHANNEL = f"(name = '{names.HEAP_CLASS}' AND labels['class'] = '{CHANNEL}')"

MIN_SAMPLES = 3
"""So many samples are needed to see that the number of connections was steady."""

STEPS = {
    "connection_samples": f"""
        SELECT capture, {BROKER} AS entity, {IS_METRIC} AS by_metric, at, to_json(labels) AS series,
            max(IF({IS_CHANNEL}, try_cast(labels['instances'] AS DOUBLE), value)) AS v,
            min(IF(line > 0, {EVIDENCE_LINE}, NULL)) AS evidence_line
        FROM events WHERE at IS NOT NULL AND ({IS_METRIC} OR {IS_CHANNEL}) GROUP BY 1, 2, 3, 4, 5
    """,
    "connections_by_time": "SELECT capture, entity, by_metric, unix_millis(at) / 1000D AS t, sum(v) AS v,"
    " min(evidence_line) AS evidence_line"
    " FROM connection_samples GROUP BY 1, 2, 3, 4",
    "connection_ranges": f"""
        SELECT capture, entity, count(*) >= {MIN_SAMPLES} AS is_sampled, by_metric, min(t) AS since, max(t) AS until,
            percentile(v, 0.1D) AS low, percentile(v, 0.5D) AS middle, percentile(v, 0.9D) AS high,
            array_compact(array(min_by(evidence_line, t), max_by(evidence_line, t))) AS first_lines
        FROM connections_by_time GROUP BY capture, entity, by_metric
    """,
    "ranked_ranges": "SELECT *, row_number() OVER (PARTITION BY capture, entity ORDER BY is_sampled DESC,"
    " by_metric DESC) AS rank"
    " FROM connection_ranges",
    "best_ranges": "SELECT * FROM ranked_ranges WHERE rank = 1",
    "connections": """
        SELECT capture, 'broker' AS kind, entity, is_sampled, since, until, low, middle, high, first_lines
        FROM best_ranges
        UNION ALL
        SELECT capture, 'topic' AS kind, '*' AS entity, bool_and(is_sampled) AS is_sampled, max(since) AS since,
            min(until) AS until,
            sum(low) AS low, sum(middle) AS middle, sum(high) AS high, flatten(collect_list(first_lines)) AS first_lines
        FROM best_ranges GROUP BY capture
    """,
}


def connection_rows(events: DataFrame) -> DataFrame:
    """Return the number of connections: one row for each broker, and one of kind `topic` for all brokers together.

    `low` and `high` are the 10th and the 90th percentile, without restarts and deployments. `is_sampled`: there are
    enough samples. Times are seconds since 1970.
    """
    return run_steps({"events": events}, STEPS)
