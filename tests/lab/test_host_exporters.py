"""node_exporter in the network of a host: what it counts is that of the host, and this machine can scrape it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest

from leadsman.lab import faults
from leadsman.lab.alerts.host_exporters import host_exporters
from leadsman.lab.alerts.prometheus import answers
from leadsman.lab.network import hosts, neighbour_table
from leadsman.lab.network.fabric import DenyRule, Fabric
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leadsman.lab.alerts.targets import Target

pytestmark = pytest.mark.lab

SERVER, CLIENT, PORT = "10.20.4.11", "10.20.4.57", 9042
SOON = timedelta(seconds=20)
STUCK = 'node_tcp_connection_states{state="syn_recv"} 1'


@pytest.fixture
def fabric() -> Iterator[Fabric]:
    with Fabric() as running:
        running.launch("server", SERVER, "02:5a:10:00:00:01")
        running.launch("client", CLIENT, "02:5a:10:00:00:02")
        yield running


def metrics(target: Target) -> str:
    with urlopen(f"http://{target.address}/metrics", timeout=10) as response:
        return str(response.read().decode())


def of(targets: list[Target], job: str, host: str) -> Target:
    return next(each for each in targets if (each.job, each.instance) == (job, f"{host}:9100"))


def test_a_connection_whose_answer_is_dropped_is_in_syn_recv_on_the_server_alone(
    fabric: Fabric, tmp_path: Path
) -> None:
    lost = DenyRule(source=SERVER, source_port=PORT, target=CLIENT)
    with (
        host_exporters(fabric, {}, tmp_path) as targets,
        hosts.run_tcp_peer(fabric, "server", "serve", str(PORT)),
        faults.network(fabric, replace(fabric.behaviour, denied=(lost,))),
        hosts.run_tcp_peer(fabric, "client", "connect", SERVER, str(PORT)),
    ):
        server, client = of(targets, "node", "server"), of(targets, "node", "client")

        wait_for(lambda: STUCK in metrics(server), timeout=SOON, what="a connection in SYN_RECV")

        assert 'state="syn_recv"' not in metrics(client)
        assert 'state="syn_sent"' in metrics(client)


def test_a_connection_that_succeeds_leaves_no_series_of_syn_recv(fabric: Fabric, tmp_path: Path) -> None:
    with (
        host_exporters(fabric, {}, tmp_path) as targets,
        hosts.run_tcp_peer(fabric, "server", "serve", str(PORT)),
        hosts.run_tcp_peer(fabric, "client", "keep", SERVER, str(PORT)),
    ):
        text = metrics(of(targets, "node", "server"))

    assert 'state="established"' in text
    assert 'state="syn_recv"' not in text


def test_the_threshold_of_the_kernel_is_a_series_of_each_host(fabric: Fabric, tmp_path: Path) -> None:
    with host_exporters(fabric, {}, tmp_path) as targets:
        shown = metrics(of(targets, "kernel", "server"))
        in_namespace = metrics(of(targets, "node", "server"))

    assert f"node_sysctl_net_ipv4_neigh_default_gc_thresh1 {neighbour_table.read_threshold()}" in shown
    assert "gc_thresh1" not in in_namespace
    assert of(targets, "kernel", "client").series_job == "node"


def test_a_port_on_which_nothing_listens_answers_nothing(fabric: Fabric, tmp_path: Path) -> None:
    with host_exporters(fabric, {}, tmp_path) as targets:
        address = of(targets, "node", "server").address
        assert answers(f"http://{address}/metrics")

    assert not answers(f"http://{address}/metrics")
