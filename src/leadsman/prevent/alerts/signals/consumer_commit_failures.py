"""Offset commits of a leadsman_clients consumer that failed."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal

SIGNAL = Signal(
    meaning="offset commits that failed or timed out, by consumer",
    readings={
        Exporter.CLIENT: ExporterMetric(
            metric="leadsman_consumer_commit_failures_total", reference="leadsman_clients.observability.metrics"
        ),
    },
)
