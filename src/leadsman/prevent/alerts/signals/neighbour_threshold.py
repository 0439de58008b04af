"""The kernel's gc_thresh1 of a host."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal

SIGNAL = Signal(
    meaning="net.ipv4.neigh.default.gc_thresh1: with fewer entries the kernel deletes none",
    readings={
        Exporter.NODE: ExporterMetric(
            metric="node_sysctl_net_ipv4_neigh_default_gc_thresh1",
            reference="prometheus/node_exporter collector/fixtures/e2e-output.txt",
            misses="needs --collector.sysctl --collector.sysctl.include=net.ipv4.neigh.default.gc_thresh1, and the "
            "host's own network: no other network namespace has this setting",
        ),
    },
)
