"""The options that name a Kafka cluster on a command line, and the connection to that cluster."""

from __future__ import annotations

import shlex
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leadsman.collect.kafka import client_properties
from leadsman.collect.kafka.bootstrap_servers import parse_servers
from leadsman.collect.kafka.connection import ClusterAdmin
from leadsman.errors import UsageError
from leadsman.run_folder import memory_folder, run_folder

if TYPE_CHECKING:
    from collections.abc import Iterator


def cluster_options() -> tuple[click.Option, ...]:
    """Return the options that name a cluster: `bootstrap` and `command_config`."""
    return (
        click.Option(["--bootstrap"], metavar="HOST:PORT,...", default="", help="Bootstrap servers."),
        click.Option(
            ["--command-config"],
            type=click.Path(dir_okay=False, path_type=Path),
            help="A Java client's properties with SASL and TLS settings, as for Kafka's own tools.",
        ),
    )


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """The address of a cluster, as for Kafka's own tools. `suffix` is the end of their names: ".sh" or none."""

    servers: str
    command_config: Path | None = None
    suffix: str = ".sh"

    def tool(self, name: str, *arguments: str) -> str:
        """Return the call of one of Kafka's own tools."""
        config = ["--command-config", str(self.command_config)] if self.command_config else []
        return f"{name}{self.suffix} " + shlex.join(["--bootstrap-server", self.servers, *config, *arguments])


def cluster_address(bootstrap: str, command_config: Path | None, suffix: str = ".sh") -> ClusterAddress:
    """Return the cluster's address; UsageError where neither option names it."""
    servers = parse_servers(bootstrap, "--bootstrap")
    if not servers:
        servers = parse_servers(read_properties(command_config).get("bootstrap.servers", ""), "bootstrap.servers")
    if not servers:
        raise UsageError("No cluster is named. Give --bootstrap HOST:PORT, or bootstrap.servers in --command-config.")
    return ClusterAddress(",".join(servers), command_config, suffix)


@contextmanager
def open_cluster(address: ClusterAddress) -> Iterator[ClusterAdmin]:
    """Yield the cluster. The first request opens the connection; it is closed here."""
    with run_folder(memory_folder()) as scratch:  # it can hold a password
        cluster = ClusterAdmin(
            lambda: {
                **client_properties.python_client_settings(read_properties(address.command_config), scratch),
                "bootstrap_servers": address.servers.split(","),
            }
        )
        try:
            yield cluster
        finally:
            cluster.close()


def read_properties(command_config: Path | None) -> dict[str, str]:
    """Read the properties when a connection needs them: the file need not exist where commands are only printed."""
    return client_properties.read_properties_file(command_config) if command_config else {}
