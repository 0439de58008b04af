"""A host's neighbour table: `ip neigh`, `ip -s neigh`, `ip -j neigh`, `arp -an`, `arp -n`, /proc/net/arp."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from leadsman import vocabulary as v
from leadsman.telemetry.addresses import address, mac
from leadsman.telemetry.outputs.json_value_lines import MAX_DOCUMENT_BYTES
from leadsman.telemetry.outputs.parser import EventColumns, OutputParser, decoded_lines, first_lines
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from leadsman.telemetry.outputs.parser import OutputContext

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
HEADS = (re.compile(rb"IP address\s+HW type\s+Flags"), re.compile(rb"Address\s+HWtype\s+HWaddress"))
BEGINS = (
    re.compile(rf"[0-9a-fA-F.:]+ dev \S+ .*\b(?:{STATES})\b".encode()),
    re.compile(rf"[0-9a-fA-F.:]{{3,}} (?:lladdr [0-9a-fA-F:]{{11,}} .*\b| )(?:{STATES}) ?\r?$".encode()),
    re.compile(rb"\S+ \([0-9.]+\) at (?:[0-9a-f:]{11,17}|<?\(?incomplete)"),
)
COMPLETE = 0x2
PERMANENT = 0x4


class NeighbourEntry(NamedTuple):
    """One entry of the table, and its line."""

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
    return any(pattern.match(line) for line in lines for pattern in (*HEADS, *BEGINS, JSON))


def parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:
    """Parse any of these tables. `ip neigh show dev eth0` prints no device: the command says it."""
    device = context.option("dev")
    rows: list[NeighbourEntry] = []
    for entry in _entries(blocks):
        rows.append(entry if entry.device else entry._replace(device=device))
        if len(rows) >= BATCH_ROWS:
            yield _as_columns(rows)
            rows = []
    if rows:
        yield _as_columns(rows)


def _as_columns(rows: list[NeighbourEntry]) -> EventColumns:
    lines, texts, *labels = zip(*rows, strict=True)
    names = ("address", "mac", "state", "device", "updated")
    return EventColumns(name=v.NEIGHBOUR_ENTRY, lines=lines, texts=texts, labels=dict(zip(names, labels, strict=True)))


def _entries(blocks: Iterable[bytes]) -> Iterator[NeighbourEntry]:
    for number, line in decoded_lines(blocks, max_bytes=MAX_DOCUMENT_BYTES):
        if line.lstrip().startswith(("[{", '{"dst"')):
            yield from _from_json(number, line)
        elif (entry := _entry(number, line)) is not None:
            yield entry


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


def _from_json(number: int, line: str) -> Iterator[NeighbourEntry]:
    """Parse `ip -j neigh`, which prints all entries on one line."""
    try:
        document = json.loads(line)
    except ValueError:
        return
    for each in document if isinstance(document, list) else [document]:
        plain = address(str(each.get("dst")))
        if plain is not None:
            state, updated = (each.get("state") or [None])[0], each.get("updated")
            text = line if len(line) < 1000 else f'"dst":"{each["dst"]}"'  # noqa: PLR2004 - what is quoted of a line
            columns = mac(each.get("lladdr")), state, each.get("dev"), None if updated is None else str(updated)
            yield NeighbourEntry(number, text, plain, *columns)


SOURCE = Source(
    "neighbour_table",
    "Neighbour table",
    "state",
    parser=OutputParser(matches=matches_head, parse=parse, event_names=frozenset({v.NEIGHBOUR_ENTRY})),
)
