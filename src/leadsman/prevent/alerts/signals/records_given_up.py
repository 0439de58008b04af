"""Records that a leadsman_clients provider gave up."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal

SIGNAL = Signal(
    meaning="records given up while a client was closed, by provider",
    readings={
        Exporter.CLIENT: ExporterMetric(
            metric="leadsman_client_unsent_total", reference="leadsman_clients.observability.metrics"
        ),
    },
)
