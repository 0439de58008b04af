"""Kernel settings: `sysctl -a`, and files under /etc/sysctl.d."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.outputs.parser import EventColumns, OutputParser, decoded_lines, first_lines
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.outputs.parser import OutputContext

ASSIGNMENT = re.compile(r"\s*((?:net|kernel|vm|fs|dev|abi|debug|user|crypto)[./][\w./-]+)\s*=\s*(.*)")
KNOWN = re.compile(
    r"net\.ipv[46]\.neigh\..+|net\.ipv4\.(?:tcp_(?:syn|max_syn|abort|keepalive|retries|mtu)\w*|ip_local_port_range|"
    r"conf\.\S+\.(?:arp_\w+|rp_filter))|net\.core\.(?:somaxconn|netdev_max_backlog)|net\.nf_conntrack_max"
)
"""Settings that decide how connections are opened and how neighbours are cached; a host has a thousand others."""

MIN_SHARE = 0.5
OWNER = "host"


def matches_head(head: bytes) -> bool:
    """Whether most of the first lines assign kernel settings."""
    lines = [line for line in first_lines(head) if line.strip() and not line.lstrip().startswith((b"#", b";"))]
    assignments = [line for line in lines[:-1] or lines if ASSIGNMENT.match(line.decode("utf-8", "replace"))]
    return bool(assignments) and len(assignments) >= MIN_SHARE * len(lines)


def parse(blocks: Iterable[bytes], _context: OutputContext) -> Iterator[EventColumns]:
    """Yield the settings of `KNOWN`."""
    rows = [
        (number, line, match[1].replace("/", "."), match[2].strip())
        for number, line in decoded_lines(blocks)
        if (match := ASSIGNMENT.match(line)) and KNOWN.fullmatch(match[1].replace("/", "."))
    ]
    if rows:
        lines, texts, keys, values = zip(*rows, strict=True)
        numbers = [float(value) if value.lstrip("-").isdigit() else None for value in values]
        labels = {"key": keys, "value": values, "owner": [OWNER] * len(rows)}
        yield EventColumns(name=v.SETTING, lines=lines, texts=texts, values=numbers, labels=labels)


SOURCE = Source(
    "kernel_settings",
    "Kernel settings",
    "state",
    parser=OutputParser(matches=matches_head, parse=parse, event_names=frozenset({v.SETTING})),
)
