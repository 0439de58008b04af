"""Clients that a leadsman_clients provider created."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal

SIGNAL = Signal(
    meaning="clients created, by provider",
    readings={
        Exporter.CLIENT: ExporterMetric(
            metric="leadsman_client_created_total", reference="leadsman_clients.observability.metrics"
        ),
    },
)
