"""The Kafka client libraries that can take part in an experiment.

Settings come in the names of Kafka's Java documentation; this module translates them for each client.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.installation import install_command
from leadsman.java import jars, runtime
from leadsman.lab.brokers import metrics_agent
from leadsman.lab.processes.program import PROGRAMS
from leadsman.lab.workload.reporting_program import log4j_options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

NEWEST_JAVA = "4.3.1"

CONNECTION_SETUP = frozenset({"socket.connection.setup.timeout.ms", "socket.connection.setup.timeout.max.ms"})
UNSUPPORTED_BY_AIOKAFKA = frozenset({"retries", "delivery.timeout.ms", "max.block.ms"}) | CONNECTION_SETUP
"""aiokafka retries until the request times out, waits as long for a connection, and has no setting for either.

kafka-python has no setting for the connection setup timeout either."""

Translation = tuple[dict[str, object], tuple[str, ...]]
"""A client's own settings, and the names of the requested settings that the client does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One client library at one version. `library` is the library's name in its documentation.

    `monitored`: the environment in which its program exposes metrics to Prometheus, by its folder and a port; None:
    its program exposes none.
    """

    name: str
    version: str
    library: str
    translate: Callable[[Mapping[str, str]], Translation]
    command: Callable[[Sequence[str], Mapping[str, object], Path], list[str]]
    monitored: Callable[[Path, int], Mapping[str, str]] | None = None

    @property
    def label(self) -> str:
        """Name and version: java@4.3.1."""
        return f"{self.name}@{self.version}"


def client(label: str) -> Client:
    """Return the client called `java`, `java@2.7.2`, `confluent-kafka`, `kafka-python` or `aiokafka`."""
    name, _, version = label.partition("@")
    if name == "java":
        return _java(version or NEWEST_JAVA)
    if name not in PYTHON_CLIENTS:
        raise LabError(f"The lab has no client {label}. It has: {', '.join(client_names())}.")
    try:
        installed = metadata.version(name)
    except metadata.PackageNotFoundError as error:
        raise LabError(f"{name} is not installed. Install it: {install_command('lab')}") from error
    if version not in {"", installed}:
        raise LabError(f"{name} is installed at {installed}, not {version}: only java can run at other versions.")
    module, translate = PYTHON_CLIENTS[name]
    return Client(name=name, version=installed, library=name, translate=translate, command=python_command(module))


def client_names() -> tuple[str, ...]:
    """Every name that `client` takes: Java at each version in the lock, and the Python clients."""
    versions = sorted(name.removeprefix("clients-") for name in jars.jar_sets() if name.startswith("clients-"))
    return ("java", *(f"java@{version}" for version in versions), *PYTHON_CLIENTS)


def compile_programs() -> list[Path]:
    """Compile the Java program against every client version of the lock, so that a first run need not."""
    versions = [name for name in jars.jar_sets() if name.startswith("clients-")]
    return [runtime.compile_source(PROGRAMS / "ProducerService.java", jars.fetch_jars(name)) for name in versions]


def _java(version: str) -> Client:
    if f"clients-{version}" not in jars.jar_sets():
        raise LabError(f"The lab has no Java client {version}. It has: {', '.join(client_names())}.")

    def command(arguments: Sequence[str], settings: Mapping[str, object], log: Path) -> list[str]:
        class_path = jars.fetch_jars(f"clients-{version}")
        classes = runtime.compile_source(PROGRAMS / "ProducerService.java", class_path)
        program = runtime.java_command(
            "ProducerService", [classes, *class_path], heap_mb=64, options=log4j_options(log)
        )
        return [*program, *arguments, *(f"{name}={value}" for name, value in settings.items())]

    return Client(
        name="java",
        version=version,
        library="kafka-clients",
        translate=lambda s: (dict(s), ()),
        command=command,
        monitored=metrics_agent.client_environment,
    )


def python_command(module: str) -> Callable[[Sequence[str], Mapping[str, object], Path], list[str]]:
    """Return the command of a Python program of the lab: worker, topic, producers, log file, settings as JSON."""

    def command(arguments: Sequence[str], settings: Mapping[str, object], log: Path) -> list[str]:
        program = [sys.executable, "-m", f"leadsman.lab.programs.{module}"]
        return [*program, *arguments, str(log), json.dumps(settings)]

    return command


def _dotted(settings: Mapping[str, str]) -> Translation:
    """Keep Java's names: librdkafka accepts them as aliases where its own differ."""
    return dict(settings), ()


def _underscored(settings: Mapping[str, str], unsupported: frozenset[str] = frozenset()) -> Translation:
    translated = {name.replace(".", "_"): _typed(value) for name, value in settings.items() if name not in unsupported}
    return translated, tuple(sorted(unsupported & settings.keys()))


def _typed(value: str) -> object:
    """Return the number or boolean that a Python client expects where Java's documentation writes text."""
    if value in {"true", "false"}:
        return value == "true"
    return int(value) if value.lstrip("-").isdigit() else value


PYTHON_CLIENTS: Mapping[str, tuple[str, Callable[[Mapping[str, str]], Translation]]] = {
    "confluent-kafka": ("producer_confluent", _dotted),
    "kafka-python": ("producer_kafka_python", lambda settings: _underscored(settings, CONNECTION_SETUP)),
    "aiokafka": ("producer_aiokafka", lambda settings: _underscored(settings, UNSUPPORTED_BY_AIOKAFKA)),
}
