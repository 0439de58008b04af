"""Stream threads of a Kafka Streams application that run."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal

SIGNAL = Signal(
    meaning="stream threads that are alive, by application instance",
    readings={
        Exporter.CLIENT: ExporterMetric(
            metric="kafka_streams_alive_stream_threads",
            reference="prometheus/jmx_exporter examples/kafka_stream.yml",
        ),
    },
)
