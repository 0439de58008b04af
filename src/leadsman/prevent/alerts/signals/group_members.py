"""Members of consumer groups."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal

SIGNAL = Signal(
    meaning="members of a consumer group",
    readings={
        Exporter.KMINION: ExporterMetric(
            metric="kminion_kafka_consumer_group_members",
            reference="redpanda-data/kminion docs/metrics.md",
            labels={"group": "group_id"},
        ),
        Exporter.KAFKA_EXPORTER: ExporterMetric(
            metric="kafka_consumergroup_members",
            reference="danielqsj/kafka_exporter kafka_exporter.go",
            labels={"group": "consumergroup"},
        ),
        Exporter.OPENTELEMETRY: ExporterMetric(
            metric="kafka_consumer_group_members",
            reference="opentelemetry-collector-contrib receiver/kafkametricsreceiver/documentation.md",
        ),
    },
    not_measured={
        Exporter.CONFLUENT: "the Metrics API exports the lag of a group, not its members",
        Exporter.MSK: "MSK exports the lag of a group (ConsumerLagMetrics), not its members",
    },
)
