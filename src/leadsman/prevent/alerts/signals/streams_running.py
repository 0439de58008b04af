"""Whether a Kafka Streams application is in state RUNNING."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal

SIGNAL = Signal(
    meaning="1 while a Kafka Streams application is in state RUNNING; no series in any other state",
    readings={
        Exporter.CLIENT: ExporterMetric(
            metric="kafka_streams_state_running", reference="prometheus/jmx_exporter examples/kafka_stream.yml"
        ),
    },
)
