"""Connections that a host refused because an accept queue was full."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal

SIGNAL = Signal(
    meaning="connections dropped because an accept queue was full",
    readings={
        Exporter.NODE: ExporterMetric(
            metric="node_netstat_TcpExt_ListenOverflows",
            reference="prometheus/node_exporter collector/fixtures/e2e-output.txt",
        ),
    },
)
