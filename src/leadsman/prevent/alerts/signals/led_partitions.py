"""Partitions that have a leader."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal, broker_readings

SIGNAL = Signal(
    meaning="partitions that are led, by the counts of all brokers that answer",
    readings={
        **broker_readings(
            jmx="kafka_server_replicamanager_leadercount",
            msk='kafka_server_ReplicaManager_Value{name="LeaderCount"}',
            transform="sum by (cluster) ({metric})",
            misses="partitions led by a broker that Prometheus alone cannot reach look leaderless",
        ),
        Exporter.KAFKA_EXPORTER: ExporterMetric(
            metric="kafka_topic_partition_leader",
            reference="danielqsj/kafka_exporter kafka_exporter.go: no series for a partition without leader",
            transform="count by (cluster) ({metric})",
            misses="metadata name a dead broker as leader until the controller fences it: nothing is seen until then",
        ),
    },
    not_measured={
        Exporter.KMINION: "kminion exports no leaders of partitions",
        Exporter.OPENTELEMETRY: "the kafkametrics receiver exports replicas and in-sync replicas, no leaders",
    },
)
