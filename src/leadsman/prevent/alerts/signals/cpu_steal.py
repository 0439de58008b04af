"""CPU time that a host's hypervisor gave to others."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal

SIGNAL = Signal(
    meaning="seconds of CPU steal, by core",
    readings={
        Exporter.NODE: ExporterMetric(
            metric='node_cpu_seconds_total{mode="steal"}',
            reference="prometheus/node_exporter collector/fixtures/e2e-output.txt",
        ),
    },
)
