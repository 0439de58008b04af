"""Offset commits of a leadsman_clients consumer."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal

SIGNAL = Signal(
    meaning="offset commits that were acknowledged, by consumer",
    readings={
        Exporter.CLIENT: ExporterMetric(
            metric="leadsman_consumer_commits_total", reference="leadsman_clients.observability.metrics"
        ),
    },
)
