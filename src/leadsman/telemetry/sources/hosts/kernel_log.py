"""The kernel's log about its queues, tables and processors: /var/log/kern.log, `dmesg`, `journalctl -k`."""

from __future__ import annotations

from leadsman import vocabulary as v
from leadsman.telemetry.source import Signature, Source

SOURCE = Source(
    "kernel_log",
    "Kernel log",
    "state",
    (
        Signature(v.LISTEN_OVERFLOW, r"[Pp]ossible SYN flooding on port (?:[0-9a-fA-F.:\[\]]*:)?(?P<port>\d+)\."),
        Signature(v.TABLE_OVERFLOW, r"(?P<table>arp_cache|ndisc_cache): [Nn]eighbou?r table overflow!"),
        Signature(v.CLOCK_JUMPED, r"BUG: soft lockup - CPU#\d+ stuck for (?P<value>\d+)s!"),
        Signature(v.CLOCK_JUMPED, r"rcu: INFO: rcu_\w+ (?:self-)?detected (?:expedited )?stalls? on CPU"),
        Signature(
            v.CLOCK_JUMPED, r"clocksource: timekeeping watchdog on CPU\d+: Marking clocksource '\w+' as unstable"
        ),
    ),
)
