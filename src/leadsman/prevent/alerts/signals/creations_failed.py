"""Clients that a leadsman_clients provider could not create."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal

SIGNAL = Signal(
    meaning="creations of a client that failed, by provider",
    readings={
        Exporter.CLIENT: ExporterMetric(
            metric="leadsman_client_create_failures_total", reference="leadsman_clients.observability.metrics"
        ),
    },
)
