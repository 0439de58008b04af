"""A host's interfaces: `ip address`, `ip -d link`, `ip -br link`, `ip -br address`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.addresses import address, mac
from leadsman.telemetry.reading import Facts, Reading, decoded_lines, fact, told_by
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.reading import About

LINK = re.compile(r"\d+: ([^:@\s]+)[^<]*<[^>]*>.*\bmtu (\d+)")
ETHER = re.compile(r"\s+link/(\w+) (\S+)")
BRIEF = re.compile(r"(?!lo\s)([^@\s]+)(?:@\S+)?\s+(?:UP|DOWN|UNKNOWN|DORMANT|LOWERLAYERDOWN)\s+(\S.*)")
INET = re.compile(r"\s+inet6? ([0-9a-fA-F.:]+)")


def facts(blocks: Iterable[bytes], _about: About) -> Iterator[Facts]:
    """Tell each address with the interface that it is on, and each interface once more by its MAC."""
    device = mtu = own = None
    for number, line in decoded_lines(blocks):
        if found := LINK.match(line):
            device, mtu = found[1], found[2]
            own = None
        elif found := ETHER.match(line):
            own = mac(found[2]) if found[1] == "ether" else None
            if own:
                yield fact(v.LINK_SEEN, number, line, None, device=device, mac=own, mtu=mtu)
        elif (found := INET.match(line)) and (plain := address(found[1])):
            yield fact(v.LINK_SEEN, number, line, None, device=device, mac=own, mtu=mtu, address=plain)
        elif found := BRIEF.match(line):
            yield from _brief(number, line, found[1], found[2].split())


def _brief(number: int, line: str, device: str, words: list[str]) -> Iterator[Facts]:
    """Tell a row of `ip -br link`, which has the MAC, or of `ip -br address`, which has the addresses."""
    if own := mac(words[0]):
        yield fact(v.LINK_SEEN, number, line, None, device=device, mac=own)
        return
    for word in words:
        if plain := address(word.partition("/")[0]):
            yield fact(v.LINK_SEEN, number, line, None, device=device, address=plain)


SOURCE = Source(
    "links",
    "Interfaces",
    "state",
    reading=Reading(
        tells=told_by(
            r"\d+: [^:\s]+: <[A-Z_,0-9-]*> mtu \d+|"
            r"\S+ +(?:UP|DOWN|UNKNOWN) +(?:(?:[0-9a-f]{2}:){5}[0-9a-f]{2} <|[0-9a-f.:]+/\d+ )",
        ),
        facts=facts,
        reports=frozenset({v.LINK_SEEN}),
    ),
)
