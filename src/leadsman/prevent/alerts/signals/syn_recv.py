"""Connections of a host in state SYN_RECV."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal

ZERO = '0 * sum without (state) (node_tcp_connection_states{{state="listen"}})'
"""node_exporter exports no series of a state that no connection is in, and `min_over_time` knows series' samples alone.
Something always listens on a host: the exporter itself."""

SIGNAL = Signal(
    meaning="connections that wait for the third packet of the handshake",
    readings={
        Exporter.NODE: ExporterMetric(
            metric='node_tcp_connection_states{state="syn_recv"}',
            reference="prometheus/node_exporter collector/fixtures/e2e-output.txt, and collector/tcpstat_linux.go",
            transform=f"sum without (state) ({{metric}}) or {ZERO}",
            misses="node_exporter needs --collector.tcpstat; no source of a connection is named",
        ),
    },
)
