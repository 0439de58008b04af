"""Lag of consumer groups."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal

SIGNAL = Signal(
    meaning="records that a consumer group has not committed yet",
    readings={
        Exporter.KMINION: ExporterMetric(
            metric="kminion_kafka_consumer_group_topic_lag",
            reference="redpanda-data/kminion docs/metrics.md",
            labels={"group": "group_id", "topic": "topic_name"},
        ),
        Exporter.KAFKA_EXPORTER: ExporterMetric(
            metric="kafka_consumergroup_lag_sum",
            reference="danielqsj/kafka_exporter kafka_exporter.go",
            labels={"group": "consumergroup"},
        ),
        Exporter.CONFLUENT: ExporterMetric(
            metric="confluent_kafka_server_consumer_lag_offsets",
            reference="Confluent Cloud Metrics API, io.confluent.kafka.server/consumer_lag_offsets",
            labels={"group": "consumer_group_id"},
        ),
        Exporter.MSK: ExporterMetric(
            metric='kafka_consumer_group_ConsumerLagMetrics_Value{name="SumOffsetLag"}',
            reference="Amazon MSK, Use Prometheus metrics (kafka.consumer.group:type=ConsumerLagMetrics)",
            labels={"group": "groupId"},
        ),
        Exporter.OPENTELEMETRY: ExporterMetric(
            metric="kafka_consumer_group_lag_sum",
            reference="opentelemetry-collector-contrib receiver/kafkametricsreceiver/documentation.md",
        ),
    },
)
