"""Kernel settings: `sysctl -a`, and files under /etc/sysctl.d."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.reading import Facts, Reading, decoded_lines, first_lines
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.reading import About

ASSIGNMENT = re.compile(r"\s*((?:net|kernel|vm|fs|dev|abi|debug|user|crypto)[./][\w./-]+)\s*=\s*(.*)")
KNOWN = re.compile(
    r"net\.ipv[46]\.neigh\..+|net\.ipv4\.(?:tcp_(?:syn|max_syn|abort|keepalive|retries|mtu)\w*|ip_local_port_range|"
    r"conf\.\S+\.(?:arp_\w+|rp_filter))|net\.core\.(?:somaxconn|netdev_max_backlog)|net\.nf_conntrack_max"
)
"""What decides how connections are made and how neighbours are remembered; a host has a thousand others."""

LEAST = 0.5
OWNER = "host"


def tells(head: bytes) -> bool:
    """Whether most of the first lines set something of the kernel's."""
    lines = [line for line in first_lines(head) if line.strip() and not line.lstrip().startswith((b"#", b";"))]
    found = [line for line in lines[:-1] or lines if ASSIGNMENT.match(line.decode("utf-8", "replace"))]
    return bool(found) and len(found) >= LEAST * len(lines)


def facts(blocks: Iterable[bytes], _about: About) -> Iterator[Facts]:
    """Tell the settings that are known to matter."""
    found = [
        (number, line, match[1].replace("/", "."), match[2].strip())
        for number, line in decoded_lines(blocks)
        if (match := ASSIGNMENT.match(line)) and KNOWN.fullmatch(match[1].replace("/", "."))
    ]
    if found:
        lines, texts, keys, values = zip(*found, strict=True)
        numbers = [float(value) if value.lstrip("-").isdigit() else None for value in values]
        labels = {"key": keys, "value": values, "owner": [OWNER] * len(found)}
        yield Facts(name=v.SETTING, lines=lines, texts=texts, values=numbers, labels=labels)


SOURCE = Source(
    "kernel_settings",
    "Kernel settings",
    "state",
    reading=Reading(tells=tells, facts=facts, reports=frozenset({v.SETTING})),
)
