"""Consumers that leadsman_clients replaced."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal

SIGNAL = Signal(
    meaning="consumers replaced, by name",
    readings={
        Exporter.CLIENT: ExporterMetric(
            metric="leadsman_consumer_restarts_total", reference="leadsman_clients.observability.metrics"
        ),
    },
)
