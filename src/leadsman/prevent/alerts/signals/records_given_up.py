"""Records that a leadsman_clients provider gave up."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import Reading, Signal

SIGNAL = Signal(
    meaning="records given up while a client was closed, by provider",
    readings={
        Exporter.CLIENT: Reading(
            metric="leadsman_client_unsent_total", source="leadsman_clients.observability.metrics"
        ),
    },
)
