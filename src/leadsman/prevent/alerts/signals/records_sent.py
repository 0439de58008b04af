"""Records that Java producers sent."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal

SIGNAL = Signal(
    meaning="records sent, by producer",
    readings={
        Exporter.CLIENT: ExporterMetric(
            metric="kafka_producer_producer_metrics_record_send",
            older="kafka_producer_producer_metrics_record_send_total",
            reference="prometheus/jmx_exporter default format, of kafka.producer:type=producer-metrics,client-id=*; "
            "releases from 1.0 on drop the ending _total, seen with 1.0.1 and a producer 4.3.1",
            misses="Java producers alone; librdkafka and the Python clients export no such counter to Prometheus",
        ),
    },
)
