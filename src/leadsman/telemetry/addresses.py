"""Addresses and MACs in one form, whichever way a program writes them, so that they can be compared."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

MAC = re.compile(r"[0-9a-f]{1,2}(?::[0-9a-f]{1,2}){5}")
UNASSIGNED_MACS = frozenset({"00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff"})
"""Not resolved yet, and the broadcast address."""

CACHED_ADDRESSES = 200_000
"""Texts whose parsed form is cached: more than the addresses of a large fleet."""


@lru_cache(CACHED_ADDRESSES)
def address(text: str) -> str | None:
    """Return an address without brackets, zone and the prefix of an IPv4 address in IPv6; None for other text.

    Servers on Java list IPv4 connections as `[::ffff:10.0.0.1]:9092`.
    """
    plain = text.strip("[]").partition("%")[0].strip("[]")
    if plain in {"*", "0.0.0.0", "::"}:  # noqa: S104 - what a listener on all addresses is listed as
        return "*"
    try:
        parsed = ip_address(plain)
    except ValueError:
        return None
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return str(mapped or parsed)


def host_and_port(text: str) -> tuple[str, str] | None:
    """Split `10.0.0.1:9092`, `[fe80::1]%eth0:80`, `*:*` or netstat's `:::80` into address and port."""
    host, colon, port = text.rpartition(":")
    plain = address(host) if colon else None
    return None if plain is None else (plain, port)


@lru_cache(CACHED_ADDRESSES)
def mac(text: str | None) -> str | None:
    """Return a MAC in lower case with two digits per byte; None for other text, and for a MAC of no interface."""
    lowered = (text or "").lower().replace("-", ":")
    if not MAC.fullmatch(lowered):
        return None
    plain = ":".join(part.zfill(2) for part in lowered.split(":"))
    return None if plain in UNASSIGNED_MACS else plain
