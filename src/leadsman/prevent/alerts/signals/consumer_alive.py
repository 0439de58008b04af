"""Whether a leadsman_clients consumer makes progress."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal

SIGNAL = Signal(
    meaning="1 while a consumer makes progress or has nothing to do",
    readings={
        Exporter.CLIENT: ExporterMetric(
            metric="leadsman_consumer_alive", reference="leadsman_clients.observability.metrics"
        ),
    },
)
