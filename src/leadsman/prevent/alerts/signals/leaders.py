"""Partitions that each broker leads."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import Signal, broker_readings

SIGNAL = Signal(
    meaning="partitions that a broker leads, by its own count",
    readings=broker_readings(
        jmx="kafka_server_replicamanager_leadercount",
        msk='kafka_server_ReplicaManager_Value{name="LeaderCount"}',
    ),
    not_measured={
        Exporter.KAFKA_EXPORTER: "kafka_exporter reads leaders from metadata: an idle broker has no series",
        Exporter.KMINION: "kminion exports no leaders of partitions",
        Exporter.OPENTELEMETRY: "the kafkametrics receiver exports replicas and in-sync replicas, no leaders",
    },
)
