"""Where the live page is served (`--serve`; on loopback without a token), and where events are taken (`--listen`)."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leadsman.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

MIN_TOKEN_CHARACTERS = 16
MAX_PORT = 65_535
EXAMPLE = "{option} takes ADDRESS:PORT, such as 127.0.0.1:8080 or [::1]:8080"


@dataclass(frozen=True, slots=True)
class ServeAddress:
    """An address of this machine, a port (0: any that is free), and the token; empty on loopback."""

    ip: ipaddress.IPv4Address | ipaddress.IPv6Address
    port: int
    token: str = field(default="", repr=False)

    def url(self, port: int) -> str:
        """Return the page's URL."""
        host = f"[{self.ip}]" if isinstance(self.ip, ipaddress.IPv6Address) else str(self.ip)
        return f"http://{host}:{port}/"


def parse_address(text: str, token_file: Path | None) -> ServeAddress:
    """Return the page's address. UsageError where it is none, or can be reached from elsewhere and has no token."""
    ip, port = _ip_and_port(text, EXAMPLE.format(option="--serve"))
    token = _token(token_file) if token_file else ""
    if not ip.is_loopback and not token:
        raise UsageError(
            f"--serve {text} can be reached from other machines, and the page quotes log lines. "
            f"Give --token-file FILE, or serve at 127.0.0.1:{port}."
        )
    return ServeAddress(ip, port, token)


def parse_listen_address(text: str, token_file: Path) -> ServeAddress:
    """Return the address of the webhook. UsageError where it is none."""
    return ServeAddress(*_ip_and_port(text, EXAMPLE.format(option="--listen")), _token(token_file))


def _ip_and_port(text: str, example: str) -> tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > MAX_PORT:
        raise UsageError(f"{example}, not {text!r}.")
    try:
        ip = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host.removeprefix("[").removesuffix("]"))
    except ValueError as error:
        raise UsageError(f"{example}: {host!r} is no IP address.") from error
    return ip, int(port)


def _token(file: Path) -> str:
    token = file.read_text(encoding="utf-8", errors="replace").strip()
    if len(token) < MIN_TOKEN_CHARACTERS:
        raise UsageError(
            f"{file} has no token of {MIN_TOKEN_CHARACTERS} characters or more. Make one: openssl rand -hex 32"
        )
    return token
