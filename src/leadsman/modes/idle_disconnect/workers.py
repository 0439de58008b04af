"""The workers that wrote logs, the fleet of each, and whether the fleet is known to have a Kafka client."""

from __future__ import annotations

from leadsman import vocabulary as names
from leadsman.modes.idle_disconnect.significance import FLEET
from leadsman.pipeline.detector_sql import sql_literals

CLIENTS = ("java_client", "librdkafka", "kafka_python", "aiokafka", "sarama", "kafkajs", "franz_go")

WORKERS = {
    "unordered_files": f"""
        SELECT DISTINCT capture, file, true AS unordered FROM events
        WHERE name = '{names.FILE_READ}' AND labels['order'] = 'none'
    """,
    "subject_fleets": f"""
        SELECT capture, subject, {FLEET} AS fleet, coalesce(unordered, false) AS unordered
        FROM gaps LEFT JOIN unordered_files USING (capture, file) WHERE name = '{names.SUBJECT_ACTIVE}'
    """,
    "kafka_clients": f"""
        SELECT capture, subject, true AS has_client,
            max(IF(source IN ({sql_literals(*CLIENTS)}), source, NULL)) AS library
        FROM events WHERE source IN ({sql_literals(*CLIENTS)}) OR name = '{names.CLIENT_STARTED}'
        GROUP BY capture, subject
    """,
    "workers": """
        SELECT capture, subject, fleet, unordered, library,
            max(coalesce(has_client, false)) OVER (PARTITION BY capture, fleet) AS is_kafka_fleet
        FROM subject_fleets LEFT JOIN kafka_clients USING (capture, subject)
    """,
}
"""The steps from `gaps` and `events` to `workers`: one row for each subject that wrote lines."""
