"""Topics of a cluster."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal, broker_readings

SIGNAL = Signal(
    meaning="topics of the cluster",
    readings={
        **broker_readings(
            jmx="kafka_controller_kafkacontroller_globaltopiccount",
            msk='kafka_controller_KafkaController_Value{name="GlobalTopicCount"}',
            transform="max by (cluster) ({metric})",
            misses="of a KRaft cluster the dedicated controllers must be scraped too",
        ),
        Exporter.KMINION: ExporterMetric(
            metric="kminion_kafka_topic_info",
            reference="redpanda-data/kminion docs/metrics.md",
            transform="count by (cluster) ({metric})",
        ),
        Exporter.KAFKA_EXPORTER: ExporterMetric(
            metric="kafka_topic_partitions",
            reference="danielqsj/kafka_exporter kafka_exporter.go",
            transform="count by (cluster) ({metric})",
        ),
        Exporter.OPENTELEMETRY: ExporterMetric(
            metric="kafka_topic_partitions",
            reference="opentelemetry-collector-contrib receiver/kafkametricsreceiver/documentation.md",
            transform="count by (cluster) ({metric})",
        ),
    },
)
