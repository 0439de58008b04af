"""A host's neighbour table: `ip neigh`, `ip -s neigh`, `ip -j neigh`, `arp -an`, `arp -n`, /proc/net/arp."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from leadsman import vocabulary as v
from leadsman.telemetry.addresses import address, mac
from leadsman.telemetry.places import LARGEST
from leadsman.telemetry.reading import Facts, Reading, decoded_lines, first_lines
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from leadsman.telemetry.reading import About

ROWS_TOLD_AT_ONCE = 50_000
"""A table of a large subnet is told in pieces, so that memory does not follow its size."""

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
    re.compile(rb"\S+ \([0-9.]+\) at (?:[0-9a-f:]{11,17}|<?\(?incomplete)"),
)
COMPLETE = 0x2
PERMANENT = 0x4


class Entry(NamedTuple):
    """One entry, and where it stands."""

    line: int
    text: str
    address: str
    mac: str | None
    state: str | None
    device: str | None
    updated: str | None = None


def tells(head: bytes) -> bool:
    """Whether an output begins as one of these tables."""
    if JSON.match(head):
        return True
    lines = [line for line in first_lines(head) if line.strip()][:3]
    return any(pattern.match(line) for line in lines for pattern in (*HEADS, *BEGINS, JSON))


def facts(blocks: Iterable[bytes], _about: About) -> Iterator[Facts]:
    """Read whichever table it is."""
    rows: list[Entry] = []
    for entry in _entries(blocks):
        rows.append(entry)
        if len(rows) >= ROWS_TOLD_AT_ONCE:
            yield _facts(rows)
            rows = []
    if rows:
        yield _facts(rows)


def _facts(rows: list[Entry]) -> Facts:
    lines, texts, *labels = zip(*rows, strict=True)
    names = ("address", "mac", "state", "device", "updated")
    return Facts(name=v.NEIGHBOUR_ENTRY, lines=lines, texts=texts, labels=dict(zip(names, labels, strict=True)))


def _entries(blocks: Iterable[bytes]) -> Iterator[Entry]:
    for number, line in decoded_lines(blocks, longest=LARGEST):
        if line.lstrip().startswith(("[{", '{"dst"')):
            yield from _from_json(number, line)
        elif (entry := _entry(number, line)) is not None:
            yield entry


def _entry(number: int, line: str) -> Entry | None:
    return next((entry for read in READERS if (entry := read(number, line)) is not None), None)


def _ip(number: int, line: str) -> Entry | None:
    found = IP_NEIGH.match(line)
    plain = address(found[1]) if found else None
    if found is None or plain is None:
        return None
    used = USED.search(line)
    return Entry(number, line, plain, mac(found[3]), found[4], found[2], used[1] if used else None)


def _arp_an(number: int, line: str) -> Entry | None:
    found = ARP_AN.match(line)
    if found is None:
        return None
    state = "PERMANENT" if " PERM " in line else None
    return Entry(number, line, found[1], mac(found[2]), state, found[4])


def _proc(number: int, line: str) -> Entry | None:
    found = PROC.match(line)
    if found is None:
        return None
    flags = int(found[2], 16)
    state = "PERMANENT" if flags & PERMANENT else None if flags & COMPLETE else "INCOMPLETE"
    return Entry(number, line, found[1], mac(found[3]), state, found[4])


def _arp_n(number: int, line: str) -> Entry | None:
    found = ARP_N.match(line)
    return Entry(number, line, found[1], mac(found[2]), None, found[3]) if found else None


READERS: tuple[Callable[[int, str], Entry | None], ...] = (_ip, _arp_an, _proc, _arp_n)


def _from_json(number: int, line: str) -> Iterator[Entry]:
    """Read `ip -j neigh`: all on one line."""
    try:
        told = json.loads(line)
    except ValueError:
        return
    for each in told if isinstance(told, list) else [told]:
        plain = address(str(each.get("dst")))
        if plain is not None:
            state, updated = (each.get("state") or [None])[0], each.get("updated")
            text = line if len(line) < 1000 else f'"dst":"{each["dst"]}"'  # noqa: PLR2004 - what is quoted of a line
            known = mac(each.get("lladdr")), state, each.get("dev"), None if updated is None else str(updated)
            yield Entry(number, text, plain, *known)


SOURCE = Source(
    "neighbour_table",
    "Neighbour table",
    "state",
    reading=Reading(tells=tells, facts=facts, reports=frozenset({v.NEIGHBOUR_ENTRY})),
)
