"""Network counters of the kernel: `nstat`, /proc/net/netstat and snmp, `netstat -s`, /proc/net/stat/arp_cache."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.outputs.parser import EventColumns, OutputParser, decoded_lines, head_line_matches, single_event
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.outputs.parser import OutputContext

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
"""Counters of connections that could not be opened."""

SENTENCES = (
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


def parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:
    """Yield the counters of `NAMES` from any of these outputs."""
    line_above = ""
    for number, line in decoded_lines(blocks):
        for name, value in _counters(line, line_above):
            version = "_6" if name == ENTRIES and "ndisc" in f"{context.command} {context.file}" else ""
            yield single_event(v.METRIC, number, line, value, metric=f"{name}{version}")
        line_above = line


def _counters(line: str, line_above: str) -> Iterator[tuple[str, float]]:
    """Yield the counters of one line; `line_above` names the columns in two of the formats."""
    if (match := NSTAT.match(line)) and match[1] in NAMES:
        yield match[1], float(match[2])
    elif (match := PROC.match(line)) and (names := PROC.match(line_above)) and not match[2][:1].isalpha():
        counters = zip((names[1] + name for name in names[2].split()), match[2].split(), strict=False)
        yield from ((name, float(value)) for name, value in counters if name in NAMES)
    elif TABLE.match(line_above):  # one row per processor; the first column is the same in each
        with suppress(ValueError, IndexError):
            yield ENTRIES, float(int(line.partition(" ")[0], 16))
    else:
        yield from ((name, float(match[1])) for pattern, name in SENTENCES if (match := pattern.match(line)))


SOURCE = Source(
    "kernel_counters",
    "Kernel counters",
    "state",
    parser=OutputParser(
        matches=head_line_matches(
            r"#kernel\s*$|(?:TcpExt|Tcp): \w+ \w+|entries\s+allocs\s+destroys|"
            r"\s+\d+ (?:active connection openings|times the listen queue)"
        ),
        parse=parse,
        event_names=frozenset({v.METRIC}),
    ),
)
