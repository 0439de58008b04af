"""Alerts on a host whose answers do not arrive, and on the setting under which this stays so for ever."""

from datetime import timedelta

from leadsman.modes.stale_neighbour.host import DEFAULTS, FIRST
from leadsman.prevent.alerts.alert import Alert, Case, Owner, Severity, Threshold

SYN_ACK_SECONDS = 63
"""net.ipv4.tcp_synack_retries is 5 by default: the kernel repeats a SYN-ACK after 1, 2, 4, 8, 16 and 32 s."""

HOST = 'instance="broker-1:9100",job="node"'
ENTRIES = f'neighbour_entries{{{HOST},device="eth0"}}'

ALERTS = (
    Alert(
        name="HostConnectionsStuckInSynRecv",
        summary="Connections to {{ $labels.instance }} stay in SYN_RECV: its SYN-ACKs do not arrive",
        expression=(
            "min_over_time(leadsman:syn_recv[${seconds}s]) > 0"
            " unless on (job, instance) rate(leadsman:listen_overflows[5m]) > 0"
        ),
        signals=("syn_recv", "listen_overflows"),
        thresholds=(
            Threshold(
                name="seconds",
                value=2 * SYN_ACK_SECONDS,
                why="a SYN-ACK is repeated for 63 s (tcp_synack_retries=5); twice that is a client that tries again",
            ),
        ),
        for_duration=timedelta(minutes=2),
        why_for_duration="A busy host often has a connection in SYN_RECV, and none at some moment of four minutes.",
        severity=Severity.PAGE,
        owner=Owner.HOSTS,
        meaning="The host answers clients that never get the answer: a wrong MAC, a firewall, another route.",
        action="On the host: compare the neighbour entries of these clients with their MACs; delete a wrong one.",
        command="leadsman collect host --out CAPTURE && leadsman diagnose CAPTURE",
        misses="It names no client. Clients that give up at once leave gaps. A SYN flood looks the same.",
        cases=(
            Case(
                name="broken: two clients try again and again",
                series={f"syn_recv{{{HOST}}}": "0+0x10 2+0x60", f"listen_overflows{{{HOST}}}": "0+0x90"},
                firing=1,
                at="30m",
                why="the scenario: pairs that cannot connect until the entry is deleted",
            ),
            Case(
                name="cured: the entry was deleted",
                series={f"syn_recv{{{HOST}}}": "0+0x10 2+0x10 0+0x60", f"listen_overflows{{{HOST}}}": "0+0x90"},
                firing=0,
                at="30m",
            ),
            Case(
                name="near miss: the accept queue is full",
                series={f"syn_recv{{{HOST}}}": "0+0x10 2+0x60", f"listen_overflows{{{HOST}}}": "0+0x10 0+50x60"},
                firing=0,
                at="30m",
                why="the kernel counts listen overflows",
            ),
            Case(
                name="near miss: SYNs do not arrive",
                series={f"syn_recv{{{HOST}}}": "0+0x90", f"listen_overflows{{{HOST}}}": "0+0x90"},
                firing=0,
                at="30m",
                why="the server has no SYN_RECV",
            ),
        ),
    ),
    Alert(
        name="HostKeepsNeighbourEntriesForEver",
        summary="{{ $labels.instance }} keeps its {{ $value }} neighbour entries for ever: fewer than gc_thresh1",
        expression=(
            "sum by (job, instance) (leadsman:neighbour_entries) > 0 and"
            " sum by (job, instance) (leadsman:neighbour_entries)"
            " < on (job, instance) sum by (job, instance) (leadsman:neighbour_threshold)"
        ),
        signals=("neighbour_entries", "neighbour_threshold"),
        thresholds=(),
        for_duration=timedelta(hours=1),
        why_for_duration="A host that has just started has few neighbours.",
        severity=Severity.INFO,
        owner=Owner.HOSTS,
        meaning=(f"With fewer entries than gc_thresh1 ({DEFAULTS[FIRST]} by default) the kernel deletes none."),
        action="Set net.ipv4.neigh.default.gc_thresh1 to 0, permanently.",
        command="leadsman check host --addresses 60 --reuses 40",
        misses="It is a risk and no failure: it harms only where addresses move to other instances.",
        cases=(
            Case(
                name="broken: the default",
                series={ENTRIES: "40+0x200", f"neighbour_threshold{{{HOST}}}": f"{DEFAULTS[FIRST]}+0x200"},
                firing=1,
                at="2h",
            ),
            Case(
                name="cured: gc_thresh1 is 0",
                series={ENTRIES: "40+0x200", f"neighbour_threshold{{{HOST}}}": "0+0x200"},
                firing=0,
                at="2h",
            ),
            Case(
                name="near miss: a table that is collected",
                series={ENTRIES: "400+0x200", f"neighbour_threshold{{{HOST}}}": f"{DEFAULTS[FIRST]}+0x200"},
                firing=0,
                at="2h",
            ),
        ),
    ),
)
