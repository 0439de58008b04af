"""A host's interfaces: `ip address`, `ip -d link`, `ip -br link`, `ip -br address`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.addresses import address, mac
from leadsman.telemetry.outputs.parser import EventColumns, OutputParser, decoded_lines, head_line_matches, single_event
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.outputs.parser import OutputContext

LINK = re.compile(r"\d+: ([^:@\s]+)[^<]*<[^>]*>.*\bmtu (\d+)")
ETHER = re.compile(r"\s+link/(\w+) (\S+)")
BRIEF = re.compile(r"(?!lo\s)([^@\s]+)(?:@\S+)?\s+(?:UP|DOWN|UNKNOWN|DORMANT|LOWERLAYERDOWN)\s+(\S.*)")
INET = re.compile(r"\s+inet6? ([0-9a-fA-F.:]+)")


def parse(blocks: Iterable[bytes], _context: OutputContext) -> Iterator[EventColumns]:
    """Yield an event for each address with its interface, and one for each interface with its MAC."""
    device = mtu = own = None
    for number, line in decoded_lines(blocks):
        if match := LINK.match(line):
            device, mtu = match[1], match[2]
            own = None
        elif match := ETHER.match(line):
            own = mac(match[2]) if match[1] == "ether" else None
            if own:
                yield single_event(v.LINK_SEEN, number, line, None, device=device, mac=own, mtu=mtu)
        elif (match := INET.match(line)) and (plain := address(match[1])):
            yield single_event(v.LINK_SEEN, number, line, None, device=device, mac=own, mtu=mtu, address=plain)
        elif match := BRIEF.match(line):
            yield from _brief(number, line, match[1], match[2].split())


def _brief(number: int, line: str, device: str, words: list[str]) -> Iterator[EventColumns]:
    """Parse a row of `ip -br link`, which has the MAC, or of `ip -br address`, which has the addresses."""
    if own := mac(words[0]):
        yield single_event(v.LINK_SEEN, number, line, None, device=device, mac=own)
        return
    for word in words:
        if plain := address(word.partition("/")[0]):
            yield single_event(v.LINK_SEEN, number, line, None, device=device, address=plain)


SOURCE = Source(
    "links",
    "Interfaces",
    "state",
    parser=OutputParser(
        matches=head_line_matches(
            r"\d+: [^:\s]+: <[A-Z_,0-9-]*> mtu \d+|"
            r"\S+ +(?:UP|DOWN|UNKNOWN) +(?:(?:[0-9a-f]{2}:){5}[0-9a-f]{2} <|[0-9a-f.:]+/\d+ )",
        ),
        parse=parse,
        event_names=frozenset({v.LINK_SEEN}),
    ),
)
