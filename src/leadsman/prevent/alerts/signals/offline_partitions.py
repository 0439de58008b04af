"""Partitions that have no leader."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import Signal, broker_readings

SIGNAL = Signal(
    meaning="partitions without a leader, by the controller's count",
    readings=broker_readings(
        jmx="kafka_controller_kafkacontroller_offlinepartitionscount",
        msk='kafka_controller_KafkaController_Value{name="OfflinePartitionsCount"}',
        misses="of a KRaft cluster the dedicated controllers must be scraped too",
    ),
    not_measured={
        Exporter.KAFKA_EXPORTER: "kafka_exporter drops the leader of such a partition; see leaders and partitions",
        Exporter.KMINION: "kminion exports no leaders of partitions",
        Exporter.OPENTELEMETRY: "the kafkametrics receiver exports replicas and in-sync replicas, no leaders",
    },
)
