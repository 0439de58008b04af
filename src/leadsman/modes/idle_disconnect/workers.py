"""Who wrote, as which fleet, and whether any of that fleet is known to have a Kafka client."""

from __future__ import annotations

from leadsman import vocabulary as names
from leadsman.modes.idle_disconnect.coincidence import FLEET
from leadsman.pipeline.shapes import quoted

CLIENTS = ("java_client", "librdkafka", "kafka_python", "aiokafka", "sarama", "kafkajs", "franz_go")

WORKERS = {
    "disorder": f"""
        SELECT DISTINCT capture, file, true AS disordered FROM events
        WHERE name = '{names.FILE_READ}' AND labels['order'] = 'none'
    """,
    "named": f"""
        SELECT capture, subject, {FLEET} AS fleet, coalesce(disordered, false) AS disordered
        FROM gaps LEFT JOIN disorder USING (capture, file) WHERE name = '{names.SUBJECT_ACTIVE}'
    """,
    "kafka": f"""
        SELECT capture, subject, true AS speaks, max(IF(source IN ({quoted(*CLIENTS)}), source, NULL)) AS library
        FROM events WHERE source IN ({quoted(*CLIENTS)}) OR name = '{names.CLIENT_STARTED}'
        GROUP BY capture, subject
    """,
    "workers": """
        SELECT capture, subject, fleet, disordered, library,
            max(coalesce(speaks, false)) OVER (PARTITION BY capture, fleet) AS of_kafka
        FROM named LEFT JOIN kafka USING (capture, subject)
    """,
}
"""Who wrote, as which fleet, and whether any of that fleet is known to have a Kafka client."""
