"""A host that node_exporter measures."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal

SIGNAL = Signal(
    meaning="1 for each host",
    readings={
        Exporter.NODE: ExporterMetric(
            metric="node_uname_info",
            reference="prometheus/node_exporter collector/fixtures/e2e-output.txt",
        ),
    },
)
