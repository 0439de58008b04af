"""A host's neighbour table: `ip neigh`, `ip -s neigh`, `ip -j neigh`, `arp -an`, `arp -n`, /proc/net/arp."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from leadsman import vocabulary as v
from leadsman.telemetry.addresses import address, mac
from leadsman.telemetry.outputs.json_value_lines import MAX_DOCUMENT_BYTES
from leadsman.telemetry.outputs.parser import EventColumns, OutputParser, first_lines
from leadsman.telemetry.outputs.usual_lines import UsualLayout, lines_by_block, merged, pieces
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from leadsman.telemetry.outputs.parser import OutputContext
    from leadsman.telemetry.outputs.usual_lines import Lines

BATCH_ROWS = 50_000
"""Entries that are yielded together: the table of a large subnet comes in pieces, so that memory stays bounded."""

STATES = "PERMANENT|NOARP|REACHABLE|STALE|INCOMPLETE|DELAY|PROBE|FAILED|NONE"
IP_NEIGH = re.compile(
    rf"([0-9a-fA-F.:]+)(?: dev (\S+))?(?: lladdr (\S+))?(?: .*?)?\s*\b({STATES})\b ?\s*(?:proto \S+ ?)?$"
)
USED = re.compile(r" used \d+/\d+/(\d+)")
ARP_AN = re.compile(r"\S+ \(([0-9.]+)\) at (\S+)(?: \[(\w+)\])?.* on (\S+)")
PROC = re.compile(r"([0-9.]+)\s+0x\w+\s+0x(\w+)\s+(\S+)\s+\S+\s+(\S+)\s*$")
ARP_N = re.compile(r"([0-9.]+)\s+(?:\(incomplete\)|ether\s+(\S+)\s+\w*)\s+(\S+)\s*$")
JSON = re.compile(rb'\s*\[\s*\{\s*"dst"\s*:')
TABLE_HEADINGS = (re.compile(rb"IP address\s+HW type\s+Flags"), re.compile(rb"Address\s+HWtype\s+HWaddress"))
LINE_BEGINNINGS = (
    re.compile(rf"[0-9a-fA-F.:]+ dev \S+ .*\b(?:{STATES})\b".encode()),
    re.compile(rf"[0-9a-fA-F.:]{{3,}} (?:lladdr [0-9a-fA-F:]{{11,}} .*\b| )(?:{STATES}) ?\r?$".encode()),
    re.compile(rb"\S+ \([0-9.]+\) at (?:[0-9a-f:]{11,17}|<?\(?incomplete)"),
)
IP_LAYOUT = UsualLayout(  # sets and no steps back: they take a quarter less time than `\w+` and `\d+`
    r"([0-9.]++) dev ([A-Za-z0-9_.@:-]++) lladdr ([0-9a-f:]{17})"
    r"(?: {1,2}(?:ref [0-9]++ )?used [0-9]++/[0-9]++/([0-9]++) ?probes [0-9]++)?"
    r" (REACHABLE|STALE|DELAY|PROBE|PERMANENT) ?"
)
ARP_LAYOUT = UsualLayout(r"\S+ \(([0-9.]+)\) at ([0-9a-f:]{17}) \[\w+\] on ([a-z0-9_.@:-]+)")
LABELS = ("address", "mac", "state", "device", "updated")
COMPLETE = 0x2
PERMANENT = 0x4
"""Flags of /proc/net/arp: ATF_COM and ATF_PERM of linux/if_arp.h."""


class NeighbourEntry(NamedTuple):
    """One entry of the table, and its line. `updated`: seconds since the kernel changed it, as text."""

    line: int
    text: str
    address: str
    mac: str | None
    state: str | None
    device: str | None
    updated: str | None = None


def matches_head(head: bytes) -> bool:
    """Whether an output begins as one of these tables."""
    if JSON.match(head):
        return True
    lines = [line for line in first_lines(head) if line.strip()][:3]
    return any(pattern.match(line) for line in lines for pattern in (*TABLE_HEADINGS, *LINE_BEGINNINGS, JSON))


def parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:
    """Parse any of these tables. `ip neigh show dev eth0` prints no device: the command says it."""
    device = context.option("dev")
    for lines in lines_by_block(blocks, max_bytes=MAX_DOCUMENT_BYTES):
        usual, odd = _usual(lines)
        documents = {index: None for index in odd if lines.texts[index].lstrip().startswith(("[{", '{"dst"'))}
        read = (_entry(lines.first + index, lines.texts[index]) for index in odd if index not in documents)
        single = _as_columns([each if each.device else each._replace(device=device) for each in read if each])
        yield from pieces(merged((usual, single, *(_from_json(lines, index) for index in documents))), BATCH_ROWS)


def _usual(lines: Lines) -> tuple[EventColumns | None, Sequence[int]]:
    """Return the entries on lines of a usual layout, and the places of all other lines."""
    if IP_LAYOUT.fits(lines):
        rows = IP_LAYOUT.rows(lines)
        addresses, devices, macs, used, states = rows.columns
        labels = {
            "address": list(map(address, addresses)),
            "mac": list(map(mac, macs)),
            "state": states,
            "device": devices,
            "updated": used if all(used) else [text or None for text in used],
        }
    elif ARP_LAYOUT.fits(lines):
        rows = ARP_LAYOUT.rows(lines)
        addresses, macs, devices = rows.columns
        labels = {"address": addresses, "mac": list(map(mac, macs)), "state": [None] * len(macs), "device": devices}
    else:
        return None, range(len(lines.texts))
    if None in labels["address"]:
        return None, range(len(lines.texts))
    return EventColumns(
        name=v.NEIGHBOUR_ENTRY, lines=rows.numbers(lines), texts=rows.texts(lines), labels=labels
    ), rows.odd


def _as_columns(entries: Sequence[NeighbourEntry]) -> EventColumns | None:
    if not entries:
        return None
    lines, texts, *labels = zip(*entries, strict=True)
    return EventColumns(name=v.NEIGHBOUR_ENTRY, lines=lines, texts=texts, labels=dict(zip(LABELS, labels, strict=True)))


def _entry(number: int, line: str) -> NeighbourEntry | None:
    return next((entry for read in READERS if (entry := read(number, line)) is not None), None)


def _ip(number: int, line: str) -> NeighbourEntry | None:
    match = IP_NEIGH.match(line)
    plain = address(match[1]) if match else None
    if match is None or plain is None:
        return None
    used = USED.search(line)
    return NeighbourEntry(number, line, plain, mac(match[3]), match[4], match[2], used[1] if used else None)


def _arp_an(number: int, line: str) -> NeighbourEntry | None:
    match = ARP_AN.match(line)
    if match is None:
        return None
    state = "PERMANENT" if " PERM " in line else None
    return NeighbourEntry(number, line, match[1], mac(match[2]), state, match[4])


def _proc(number: int, line: str) -> NeighbourEntry | None:
    match = PROC.match(line)
    if match is None:
        return None
    flags = int(match[2], 16)
    state = "PERMANENT" if flags & PERMANENT else None if flags & COMPLETE else "INCOMPLETE"
    return NeighbourEntry(number, line, match[1], mac(match[3]), state, match[4])


def _arp_n(number: int, line: str) -> NeighbourEntry | None:
    match = ARP_N.match(line)
    return NeighbourEntry(number, line, match[1], mac(match[2]), None, match[3]) if match else None


READERS: tuple[Callable[[int, str], NeighbourEntry | None], ...] = (_ip, _arp_an, _proc, _arp_n)


def _from_json(lines: Lines, index: int) -> EventColumns | None:
    """Parse `ip -j neigh`, which prints all entries on one line."""
    line = lines.texts[index]
    try:
        document = json.loads(line)
    except ValueError:
        return None
    every = [each for each in (document if isinstance(document, list) else [document]) if isinstance(each, dict)]
    plain = [address(str(each.get("dst"))) for each in every]
    if None in plain:
        every = [each for each, known in zip(every, plain, strict=True) if known is not None]
        plain = [known for known in plain if known is not None]
    short = len(line) < 1000  # noqa: PLR2004 - what is quoted of a line
    return EventColumns(
        name=v.NEIGHBOUR_ENTRY,
        lines=[lines.first + index] * len(plain),
        texts=[line] * len(plain) if short else [f'"dst":"{each["dst"]}"' for each in every],
        labels={
            "address": plain,
            "mac": [mac(_text(each.get("lladdr"))) for each in every],
            "state": [_first_text(each.get("state")) for each in every],
            "device": [_text(each.get("dev")) for each in every],
            "updated": [None if each.get("updated") is None else str(each["updated"]) for each in every],
        },
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _first_text(values: object) -> str | None:
    return _text(values[0]) if isinstance(values, list) and values else None


SOURCE = Source(
    "neighbour_table",
    "Neighbour table",
    "state",
    parser=OutputParser(matches=matches_head, parse=parse, event_names=frozenset({v.NEIGHBOUR_ENTRY})),
)
