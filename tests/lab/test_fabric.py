"""A cloud's network out of namespaces: who forwards what, and what a reused address does to a server that remembers."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leadsman.errors import LabError
from leadsman.lab.network.fabric import DenyRule, Fabric, NetworkBehaviour
from leadsman.lab.processes.program import Program
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.lab.network.fabric import NetworkInstance

pytestmark = pytest.mark.lab

SERVER, CLIENT = "10.20.4.11", "10.20.4.57"
SERVER_6, CLIENT_6 = "fd00:10:20:4::11", "fd00:10:20:4::57"
DEAD, NEW = "02:5a:10:00:00:0a", "02:5a:10:00:00:0b"
PORT, BALANCED = 9042, 9094

WITHOUT_RIGHTS = ("setpriv", "--bounding-set=-all,+setfcap", "--inh-caps=-all")
"""A user namespace stands for root's rights. CAP_SETFCAP stays, because the kernel requires it of user 0."""

SERVE = f"""
import selectors, socket
ready = selectors.DefaultSelector()
for port in ({PORT}, {BALANCED}):
    ready.register(socket.create_server(("0.0.0.0", port)), selectors.EVENT_READ)
print("ready", flush=True)
while True:
    for key, _ in ready.select():
        connection, _ = key.fileobj.accept()
        connection.sendall(b"hello")
        connection.close()
"""
CONNECT = f"""
import socket, sys
try:
    with socket.create_connection(("{SERVER}", int(sys.argv[1])), timeout=1.5) as connection:
        print(connection.recv(5).decode())
except TimeoutError:
    print("silence")
"""

UNPRIVILEGED = """
from leadsman.lab.network.fabric import Fabric
with Fabric() as fabric:
    instance = fabric.launch("a", "10.20.4.1", "02:5a:10:00:00:01")
    print(fabric.run(instance.namespace.netns_entry, ["ip", "-br", "address", "show", "e0"]))
"""


HOLDING = """
import sys
from leadsman.lab.network.fabric import Fabric
with Fabric() as fabric:
    print(fabric.netns_entry, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def fabric() -> Iterator[Fabric]:
    with Fabric() as running:
        yield running


@pytest.fixture
def server(fabric: Fabric) -> Iterator[NetworkInstance]:
    instance = fabric.launch("server", SERVER, "02:5a:10:00:00:01")
    command = [sys.executable, "-c", SERVE]
    folder = fabric.log.parent
    with Program.start(
        "s", command, folder=folder, errors=folder / "s", netns_entry=instance.namespace.netns_entry
    ) as program:
        assert program.output.readline() == "ready\n"
        yield instance


def connect(fabric: Fabric, instance: NetworkInstance, port: int = PORT) -> str:
    """What a client on that instance receives from the server."""
    return fabric.run(instance.namespace.netns_entry, [sys.executable, "-c", CONNECT, str(port)]).strip()


@pytest.mark.usefixtures("server")
def test_instances_reach_each_other(fabric: Fabric) -> None:
    client = fabric.launch("client", CLIENT, DEAD)

    response = connect(fabric, client)

    assert response == "hello"
    assert not fabric.drops()


def test_a_reused_address_is_answered_at_the_dead_instances_mac(fabric: Fabric, server: NetworkInstance) -> None:
    first = fabric.launch("client", CLIENT, DEAD)
    assert connect(fabric, first) == "hello"
    fabric.terminate("client")
    second = fabric.launch("client", CLIENT, NEW)

    response = connect(fabric, second)

    assert response == "silence"
    assert {(drop.reason, drop.mac, drop.target) for drop in fabric.drops()} == {("unknown MAC", DEAD, CLIENT)}
    assert DEAD in fabric.run(server.namespace.netns_entry, ["ip", "neighbour"])
    assert "SYN-RECV" in fabric.run(server.namespace.netns_entry, ["ss", "-tan"])


def test_neighbours_of_ipv6_are_as_stale(fabric: Fabric) -> None:
    server = fabric.launch("server", SERVER_6, "02:5a:10:00:00:01")
    serve = [sys.executable, "-m", "leadsman.lab.programs.tcp_peer", "serve", str(PORT)]
    folder = fabric.log.parent
    fabric.launch("client", CLIENT_6, DEAD)
    with Program.start(
        "s", serve, folder=folder, errors=folder / "s", netns_entry=server.namespace.netns_entry
    ) as program:
        assert program.output.readline() == "serving\n"
        met = connect_ipv6(fabric)
        fabric.terminate("client")
        fabric.launch("client", CLIENT_6, NEW)

        response = connect_ipv6(fabric)

    assert (met, response) == ("connected", "silence")
    assert {(drop.reason, drop.mac, drop.target) for drop in fabric.drops()} == {("unknown MAC", DEAD, CLIENT_6)}
    assert DEAD in fabric.run(server.namespace.netns_entry, ["ip", "-6", "neighbour"])


def connect_ipv6(fabric: Fabric) -> str:
    code = (
        "import socket\n"
        f"try: socket.create_connection(('{SERVER_6}', {PORT}), timeout=1.5); print('connected')\n"
        "except TimeoutError: print('silence')\n"
    )
    return fabric.run(fabric.instances["client"].namespace.netns_entry, [sys.executable, "-c", code]).strip()


def test_forgetting_the_neighbour_heals_at_once(fabric: Fabric, server: NetworkInstance) -> None:
    assert connect(fabric, fabric.launch("client", CLIENT, DEAD)) == "hello"
    fabric.terminate("client")
    second = fabric.launch("client", CLIENT, NEW)
    fabric.run(server.namespace.netns_entry, ["ip", "neighbour", "delete", CLIENT, "dev", "e0"])

    response = connect(fabric, second)

    assert response == "hello"


@pytest.mark.usefixtures("server")
def test_a_tracked_flow_arrives_whatever_mac_it_names(fabric: Fabric) -> None:
    fabric.change(NetworkBehaviour(balanced=(BALANCED,)))
    assert connect(fabric, fabric.launch("client", CLIENT, DEAD)) == "hello"
    fabric.terminate("client")
    second = fabric.launch("client", CLIENT, NEW)

    response = [connect(fabric, second, port) for port in (BALANCED, PORT)]

    assert response == ["hello", "silence"]


@pytest.mark.usefixtures("server")
def test_what_is_denied_is_dropped_without_a_word(fabric: Fabric) -> None:
    client = fabric.launch("client", CLIENT, DEAD)
    fabric.change(NetworkBehaviour(denied=(DenyRule(source=CLIENT, target=SERVER, target_port=PORT),)))

    response = connect(fabric, client)

    assert response == "silence"
    assert {drop.reason for drop in fabric.drops()} == {"denied"}


def test_nothing_is_left_of_a_fabric(fabric: Fabric) -> None:
    instance = fabric.launch("client", CLIENT, DEAD)

    fabric.terminate("client")

    assert not instance.holder.is_running
    assert "p-client" not in fabric.run(fabric.netns_entry, ["ip", "-br", "link"])


def test_it_works_without_the_rights_of_root() -> None:
    command = [*WITHOUT_RIGHTS, sys.executable, "-c", UNPRIVILEGED]

    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert "10.20.4.1/24" in ran.stdout, ran.stderr


@pytest.mark.long
def test_a_whole_experiment_works_without_the_rights_of_root(tmp_path: Path) -> None:
    """Brokers, clients, packet captures: the kernel's threshold is the one thing that is root's."""
    words = [
        "reproduce",
        "stale_neighbour",
        "--client",
        "confluent-kafka",
        "--no-diagnose",
        "--out",
        str(tmp_path / "run"),
    ]
    command = [*WITHOUT_RIGHTS, sys.executable, "-m", "leadsman", *words]

    ran = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    hosts = (tmp_path / "run" / "host" / "neighbours.txt").read_text()

    assert "Harm: 1 lost" in ran.stdout, ran.stderr
    assert f"{CLIENT} dev e0 lladdr {DEAD}" in hosts


def test_where_no_namespace_can_be_made_the_missing_part_is_named() -> None:
    command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", sys.executable, "-c", UNPRIVILEGED]

    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert "It needs root, or user namespaces" in ran.stderr


def test_a_command_that_fails_in_the_network_gives_its_reason(fabric: Fabric) -> None:
    with pytest.raises(LabError, match="ip neighbour delete nonsense"):
        fabric.run(fabric.netns_entry, ["ip", "neighbour", "delete", "nonsense"])


def test_a_killed_lab_leaves_no_namespace() -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDING], stdin=-1, stdout=-1, text=True) as lab:
        assert lab.stdout is not None
        holder = int(lab.stdout.readline())

        lab.kill()

    wait_for(lambda: not _exists(holder), timeout=timedelta(seconds=10), what="the end of the holder")


def _exists(process: int) -> bool:
    stat = Path(f"/proc/{process}/stat")
    return stat.exists() and stat.read_text(encoding="utf-8").rpartition(") ")[2][0] != "Z"
