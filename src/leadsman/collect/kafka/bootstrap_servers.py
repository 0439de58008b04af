"""Bootstrap servers of a command line, and why there is no connection to one."""

from __future__ import annotations

import re
import socket
import ssl
import struct
from contextlib import suppress
from typing import TYPE_CHECKING

from leadsman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

SERVER = re.compile(
    r"(?:[A-Za-z0-9+_]+://)?(?P<host>[^\s:,/@\[\]-][^\s:,/@\[\]]*|\[[^\s\[\]]+\])(?::(?P<port>[0-9]{1,5}))?"
)
"""A host, for which clients take the port 9092, or HOST:PORT, after the name of a security protocol or without."""

DEFAULT_PORT, LAST_PORT = 9092, 65_535

TIMEOUT_SECONDS = 3.0
"""Of a connection, and of its answer: a broker in the same network answers within milliseconds."""

SERVERS_TRIED = 3

CORRELATION_ID = 0x1EAD
API_VERSIONS_REQUEST = struct.pack(">ihhih", 10, 18, 0, CORRELATION_ID, -1)
"""Size, key and version of ApiVersions, the correlation id, no client id: every broker answers it before a login."""

RESPONSE_HEAD = struct.Struct(">ii")
OR_TLS = ", or expects TLS (security.protocol=SSL in the file of --command-config)"

SMALLEST_RESPONSE = 10
"""Bytes after the size: correlation id, error code and length of the list."""


def parse_servers(text: str, option: str) -> list[str]:
    """Return the servers, which commas separate. UsageError, which names the option, where one has no host or port."""
    servers = [each.strip() for each in text.split(",") if each.strip()]
    for each in servers:
        match = SERVER.fullmatch(each)
        if not match or not 0 < int(match["port"] or DEFAULT_PORT) <= LAST_PORT:
            raise UsageError(f"{option} takes HOST:PORT, several with commas between them, not {each!r}.")
    return servers


def connection_failures(servers: Sequence[str], *, uses_tls: bool) -> str:
    """Return why the servers are no brokers that can be used, as sentences; empty where one is."""
    reasons = []
    for each in servers[:SERVERS_TRIED]:
        reason = _failure(each, uses_tls=uses_tls)
        if not reason:
            return ""
        reasons.append(f"{each} {reason}")
    return ". ".join(reasons)


def _failure(server: str, *, uses_tls: bool) -> str:
    """Return what the server does instead of answering as a broker, as the end of a sentence; empty where it does."""
    try:
        answer = _exchange(server, uses_tls=uses_tls)
    except OSError as error:
        return _unreachable(error)
    if _is_kafka(answer):
        return ""
    if not uses_tls and _speaks_tls(server):
        return "expects TLS. Set security.protocol=SSL or SASL_SSL in the file of --command-config"
    if answer:
        return f"answers, but not in Kafka's protocol. It is no broker's port{'' if uses_tls else OR_TLS}"
    return (
        f"accepts connections, but does not answer. It is no broker's port, a frozen broker{'' if uses_tls else OR_TLS}"
    )


def _unreachable(error: OSError) -> str:
    match error:
        case ssl.SSLError():
            return "accepts connections, but not in TLS. Check the port, and security.protocol in --command-config"
        case socket.gaierror():
            return "has no address: its name cannot be resolved"
        case TimeoutError():
            return f"does not respond within {TIMEOUT_SECONDS:g} s"
        case ConnectionRefusedError():
            return "refuses connections"
    return f"cannot be reached: {error.strerror or error}"


def _exchange(server: str, *, uses_tls: bool) -> bytes:
    """Return the beginning of the answer to a request; nothing where the server closes or is silent."""
    with _connect(server) as connection:
        opened = _tls(connection) if uses_tls else connection
        with suppress(ConnectionError, TimeoutError):
            opened.sendall(API_VERSIONS_REQUEST)
            return opened.recv(RESPONSE_HEAD.size)
    return b""


def _connect(server: str) -> socket.socket:
    match = SERVER.fullmatch(server)
    assert match is not None
    return socket.create_connection((match["host"].strip("[]"), int(match["port"] or DEFAULT_PORT)), TIMEOUT_SECONDS)


def _tls(connection: socket.socket) -> ssl.SSLSocket:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # nothing is sent that the other side may not see
    return context.wrap_socket(connection)


def _speaks_tls(server: str) -> bool:
    try:
        with _connect(server) as connection, _tls(connection):
            return True
    except OSError:
        return False


def _is_kafka(answer: bytes) -> bool:
    if len(answer) < RESPONSE_HEAD.size:
        return False
    size, correlation_id = RESPONSE_HEAD.unpack(answer)
    return bool(size >= SMALLEST_RESPONSE and correlation_id == CORRELATION_ID)
