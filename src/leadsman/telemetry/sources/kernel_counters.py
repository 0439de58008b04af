"""Counters of the kernel's network: `nstat`, /proc/net/netstat and snmp, `netstat -s`, /proc/net/stat/arp_cache."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.reading import Facts, Reading, decoded_lines, fact, told_by
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.reading import About

NAMES = frozenset(
    {
        "TcpExtListenOverflows",
        "TcpExtListenDrops",
        "TcpExtTCPReqQFullDrop",
        "TcpExtTCPReqQFullDoCookies",
        "TcpExtTCPTimeouts",
        "TcpExtTCPSynRetrans",
        "TcpAttemptFails",
        "TcpActiveOpens",
        "TcpRetransSegs",
        "TcpOutRsts",
    }
)
"""What tells of connections that could not be made."""

IN_WORDS = (
    (re.compile(r"\s+(\d+) times the listen queue of a socket overflowed"), "TcpExtListenOverflows"),
    (re.compile(r"\s+(\d+) SYNs to LISTEN sockets dropped"), "TcpExtListenDrops"),
    (re.compile(r"\s+(\d+) failed connection attempts"), "TcpAttemptFails"),
    (re.compile(r"\s+(\d+) active connection openings"), "TcpActiveOpens"),
)
NSTAT = re.compile(r"(\w+)\s+(\d+)\s+[\d.]+\s*$")
PROC = re.compile(r"(TcpExt|Tcp): (.+)")
TABLE = re.compile(r"entries\s+allocs\s+destroys")
ENTRIES = "neighbour_entries"
"""The size of the table over all namespaces of the kernel, as it is counted against gc_thresh1."""


def facts(blocks: Iterable[bytes], about: About) -> Iterator[Facts]:
    """Tell the counters that matter, whichever of these outputs it is."""
    head = ""
    for number, line in decoded_lines(blocks):
        for name, value in _counters(line, head):
            version = "_6" if name == ENTRIES and "ndisc" in f"{about.command} {about.file}" else ""
            yield fact(v.METRIC, number, line, value, metric=f"{name}{version}")
        head = line


def _counters(line: str, head: str) -> Iterator[tuple[str, float]]:
    """Yield the counters of one line; `head` is the line above it, which names the columns in two of the formats."""
    if (found := NSTAT.match(line)) and found[1] in NAMES:
        yield found[1], float(found[2])
    elif (found := PROC.match(line)) and (names := PROC.match(head)) and not found[2][:1].isalpha():
        named = zip((names[1] + name for name in names[2].split()), found[2].split(), strict=False)
        yield from ((name, float(value)) for name, value in named if name in NAMES)
    elif TABLE.match(head):  # one row a processor; the first column is the same in each
        with suppress(ValueError, IndexError):
            yield ENTRIES, float(int(line.partition(" ")[0], 16))
    else:
        yield from ((name, float(found[1])) for words, name in IN_WORDS if (found := words.match(line)))


SOURCE = Source(
    "kernel_counters",
    "Kernel counters",
    "state",
    reading=Reading(
        tells=told_by(
            r"#kernel\s*$|(?:TcpExt|Tcp): \w+ \w+|entries\s+allocs\s+destroys|"
            r"\s+\d+ (?:active connection openings|times the listen queue)"
        ),
        facts=facts,
        reports=frozenset({v.METRIC}),
    ),
)
