"""Entries of a host's neighbour table."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal

SIGNAL = Signal(
    meaning="entries of a host's IPv4 neighbour table, by device",
    readings={
        Exporter.NODE: ExporterMetric(
            metric="node_arp_entries",
            reference="prometheus/node_exporter collector/fixtures/e2e-output.txt",
            misses="IPv4 alone",
        ),
    },
)
