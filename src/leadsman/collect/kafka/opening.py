"""How a cluster is named on a command line, and opened: the same for whoever asks it."""

from __future__ import annotations

import shlex
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leadsman.collect.kafka import client_properties
from leadsman.collect.kafka.connection import Cluster
from leadsman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator


def options() -> tuple[click.Option, ...]:
    """Return the options by which a cluster is named: `bootstrap` and `command_config`."""
    return (
        click.Option(["--bootstrap"], metavar="HOST:PORT,...", default="", help="Where to ask first."),
        click.Option(
            ["--command-config"],
            type=click.Path(dir_okay=False, path_type=Path),
            help="A Java client's properties with SASL and TLS settings, as Kafka's own tools take them.",
        ),
    )


@dataclass(frozen=True, slots=True)
class Address:
    """Where a cluster is, as Kafka's own tools are told it. `suffix` is how their names end."""

    servers: str
    command_config: Path | None = None
    suffix: str = ".sh"

    def tool(self, *words: str) -> str:
        """Return the call of one of Kafka's own tools."""
        name, *rest = words
        config = ["--command-config", str(self.command_config)] if self.command_config else []
        return f"{name}{self.suffix} " + shlex.join(["--bootstrap-server", self.servers, *config, *rest])


def address(bootstrap: str, command_config: Path | None, suffix: str = ".sh") -> Address:
    """Return where the cluster is; UsageError where nothing says so."""
    servers = bootstrap or given(command_config).get("bootstrap.servers", "")
    if not servers:
        raise UsageError("Where is the cluster? Give --bootstrap HOST:PORT, or bootstrap.servers in --command-config.")
    return Address(servers, command_config, suffix)


@contextmanager
def opened(where: Address) -> Iterator[Cluster]:
    """Yield the cluster; the connection is made by the first question and closed here."""
    with tempfile.TemporaryDirectory(prefix="leadsman-") as scratch:
        asked = Cluster(
            lambda: {
                **client_properties.settings(given(where.command_config), Path(scratch)),
                "bootstrap_servers": where.servers.split(","),
            }
        )
        try:
            yield asked
        finally:
            asked.close()


def given(command_config: Path | None) -> dict[str, str]:
    """Read the properties when they are needed: where commands are only printed, the file lies elsewhere."""
    return client_properties.read(command_config) if command_config else {}
