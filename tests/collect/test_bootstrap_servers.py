"""Why there is no connection to a bootstrap server: what the other side did, with servers that are no brokers."""

from __future__ import annotations

import ssl
import struct
import subprocess
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from leadsman.cli.commands.collect import command
from leadsman.collect.kafka.bootstrap_servers import connection_failures

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    Serve = Callable[[Callable[[socket.socket], None]], str]


def rubbish(connection: socket.socket) -> None:
    connection.recv(100)
    connection.sendall(b"\x1b[31m rubbish")


def closes(connection: socket.socket) -> None:
    connection.recv(100)


def broker(connection: socket.socket) -> None:
    request = connection.recv(100)
    connection.sendall(struct.pack(">i", 10) + request[8:12] + bytes(6))


def echoes_the_id(connection: socket.socket) -> None:
    request = connection.recv(100)
    connection.sendall(struct.pack(">i", 4) + request[8:12])


def tls(connection: socket.socket) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with TemporaryDirectory() as folder:
        pem = f"{folder}/server.pem"
        words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x", "-keyout"]
        subprocess.run([*words, pem, "-out", f"{pem}.crt"], check=True, capture_output=True)
        context.load_cert_chain(f"{pem}.crt", pem)
    with context.wrap_socket(connection, server_side=True) as opened:
        broker(opened)


@pytest.mark.parametrize(
    ("answer", "uses_tls", "why"),
    [
        (rubbish, False, "answers, but not in Kafka's protocol. It is no broker's port, or expects TLS (security."),
        (echoes_the_id, False, "answers, but not in Kafka's protocol"),
        (closes, False, "accepts connections, but does not answer"),
        (tls, False, "expects TLS. Set security.protocol=SSL"),
        (rubbish, True, "accepts connections, but not in TLS"),
    ],
)
def test_what_a_port_does_instead_of_answering_is_reported(
    serve: Serve,
    answer: Callable[[socket.socket], None],
    uses_tls: bool,  # noqa: FBT001 - pytest's
    why: str,
) -> None:
    server = serve(answer)

    assert connection_failures([server], uses_tls=uses_tls).startswith(f"{server} {why}")


@pytest.mark.parametrize(("answer", "uses_tls"), [(broker, False), (tls, True)])
def test_a_broker_is_no_reason(serve: Serve, answer: Callable[[socket.socket], None], uses_tls: bool) -> None:  # noqa: FBT001 - pytest's
    assert connection_failures(["127.0.0.1:1", serve(answer)], uses_tls=uses_tls) == ""


def test_each_server_is_named() -> None:
    failures = connection_failures(["127.0.0.1:1", "nowhere.invalid:9092"], uses_tls=False)

    assert failures.startswith("127.0.0.1:1 refuses connections. nowhere.invalid:9092 has no address")


@pytest.mark.parametrize(
    "servers", ["-x:99999999", "-x:1", "a:0", "a:65536", "a:b", "a b:1", "a:1,-b:2", "[::1", "a/b:1", "a:\u0661"]
)
def test_what_is_no_server_is_refused_at_once(servers: str) -> None:
    result = CliRunner().invoke(command, ["kafka", "--bootstrap", servers], standalone_mode=False)

    assert "--bootstrap takes HOST:PORT" in str(result.exception)


@pytest.mark.parametrize(
    "servers", ["a", "a:9092", "a_b-c.d:1, b:65535", "[::1]:9092", "10.0.0.1:9092", "SASL_SSL://a:1"]
)
def test_servers_are_taken_as_kafka_s_clients_take_them(servers: str) -> None:
    result = CliRunner().invoke(command, ["kafka", "--bootstrap", servers, "--print-commands"], standalone_mode=False)

    assert result.exception is None
