"""Clients that a leadsman_clients provider replaced because they were idle for too long."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal

SIGNAL = Signal(
    meaning="clients replaced because their connections were idle for too long, by provider",
    readings={
        Exporter.CLIENT: ExporterMetric(
            metric='leadsman_client_expired_total{reason="idle"}',
            reference="leadsman_clients.observability.metrics, ExpiryReason.IDLE",
        ),
    },
)
