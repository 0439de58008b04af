"""Connections of a host in state SYN_RECV."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import Reading, Signal

SIGNAL = Signal(
    meaning="connections that wait for the third packet of the handshake",
    readings={
        Exporter.NODE: Reading(
            metric='node_tcp_connection_states{state="syn_recv"}',
            source="prometheus/node_exporter collector/fixtures/e2e-output.txt",
            misses="node_exporter needs --collector.tcpstat; no source of a connection is named",
        ),
    },
)
