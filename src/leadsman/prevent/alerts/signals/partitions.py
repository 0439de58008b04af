"""Partitions of a cluster."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal, broker_readings

SIGNAL = Signal(
    meaning="partitions of the cluster",
    readings={
        **broker_readings(
            jmx="kafka_controller_kafkacontroller_globalpartitioncount",
            msk='kafka_controller_KafkaController_Value{name="GlobalPartitionCount"}',
            transform="max by (cluster) ({metric})",
            misses="of a KRaft cluster the dedicated controllers must be scraped too",
        ),
        Exporter.KMINION: ExporterMetric(
            metric="kminion_kafka_topic_partition_high_water_mark",
            reference="redpanda-data/kminion docs/metrics.md",
            transform="count by (cluster) ({metric})",
            misses="a partition whose water mark cannot be read, because it has no leader, is not counted",
        ),
        Exporter.KAFKA_EXPORTER: ExporterMetric(
            metric="kafka_topic_partitions",
            reference="danielqsj/kafka_exporter kafka_exporter.go",
            transform="sum by (cluster) ({metric})",
        ),
        Exporter.CONFLUENT: ExporterMetric(
            metric="confluent_kafka_server_partition_count",
            reference="Confluent Cloud Metrics API, io.confluent.kafka.server/partition_count",
            transform="sum by (cluster) ({metric})",
        ),
        Exporter.OPENTELEMETRY: ExporterMetric(
            metric="kafka_topic_partitions",
            reference="opentelemetry-collector-contrib receiver/kafkametricsreceiver/documentation.md",
            transform="sum by (cluster) ({metric})",
        ),
    },
)
