"""One node of a cluster: a Java server in a folder of its own, kept by handle.

Every node runs with relative paths, so that its logs show no path of this machine.
"""

from __future__ import annotations

import shutil
import signal
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from leadsman.errors import BrokerDidNotStart
from leadsman.interrupt import defer_interrupts
from leadsman.java import jars, runtime
from leadsman.lab.brokers import metrics_agent
from leadsman.lab.processes.ports import ADDRESS, free_ports
from leadsman.lab.processes.program import HOST_NETWORK, NetworkNamespace, Program
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

START_TIMEOUT = (timedelta(seconds=30), timedelta(seconds=90))
"""Deadlines of the two tries. A start takes 3 s on an idle machine, 15 s on a busy one; 1 of 13 hung for ever."""

STOP_TIMEOUT = timedelta(seconds=20)
"""A controlled shutdown takes 0.6 s on an idle machine, several seconds on a busy one; then the broker is killed."""

UTC_CLOCK = {"TZ": "UTC"}
"""Log lines carry no zone. All programs of the lab write UTC."""

FIRST_WITHOUT_ZOOKEEPER = (4,)
"""The first version whose brokers run only without ZooKeeper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """The cluster to start. Brokers before 4.0 run with ZooKeeper; several later ones with a dedicated controller.

    `settings` hold for every broker and controller; `settings_by_broker` (by id, from 1) override them. `proxy_ports`
    names, by broker id, the port of a forwarder before that broker's second listener, PROXY. `namespaces` are the
    networks that nodes run in, by id, where that is not this machine's own; `tools_namespace` is the network of admin
    clients and tools. `jvm_options` are options of each broker's JVM. `is_monitored`: brokers have a metrics agent and
    a garbage collector log.
    """

    brokers: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)
    settings_by_broker: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    proxy_ports: Mapping[int, int] = field(default_factory=dict)
    heap_mb: int = 256
    jvm_options: tuple[str, ...] = ()
    is_monitored: bool = False
    kafka: str = "4.3.1"
    namespaces: Mapping[int, NetworkNamespace] = field(default_factory=dict)
    tools_namespace: NetworkNamespace = HOST_NETWORK
    start_within: tuple[timedelta, ...] = START_TIMEOUT

    def namespace(self, node_id: int) -> NetworkNamespace:
        """Return the network that a node runs in."""
        return self.namespaces.get(node_id, HOST_NETWORK)

    def ports(self, count: int) -> list[int]:
        """Return ports to listen on. Instances with addresses of their own listen on the same, usual ports."""
        return [9092, 9094] * (count // 2) + [9093] if self.namespaces else free_ports(count)

    @property
    def version_numbers(self) -> tuple[int, ...]:
        """The version as numbers, to compare."""
        return tuple(int(part) for part in self.kafka.split("."))

    @property
    def has_zookeeper(self) -> bool:
        """Whether brokers of this version need ZooKeeper."""
        return self.version_numbers < FIRST_WITHOUT_ZOOKEEPER


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerKind:
    """What varies between today's broker, a broker of the ZooKeeper era, and ZooKeeper itself.

    `log` and `settings` are file names; the log contains `ready_line` once the server serves. `logging` is the text of
    the file `logging_file`, and `logging_option` is the JVM option that names that file. The log contains
    `name_taken_line` when the broker ended because the cluster still takes its last run for alive: then the broker is
    started again until the deadline. `starts_first`: the other nodes wait for this one.
    """

    main: str
    capture_folder: str
    log: str
    settings: str
    ready_line: str
    logging_file: str
    logging: str
    logging_option: str
    name_taken_line: str = ""
    starts_first: bool = False


@dataclass(slots=True, kw_only=True)
class Broker:
    """One node: a broker, a controller, both, or ZooKeeper. `ports` are by listener name."""

    id: int
    kind: ServerKind
    folder: Path
    ports: Mapping[str, int]
    settings: Mapping[str, str]
    plan: ClusterPlan
    program: Program | None = None
    starts: int = 0
    """Starts tried so far: more than one means that a start hung, or that a fault stopped the broker."""
    metrics_port: int | None = None
    """The port of its metrics agent."""
    _log_offset: int = 0

    @property
    def bootstrap(self) -> str:
        """The address of its direct listener."""
        return f"{self.plan.namespace(self.id).host}:{self.ports['PLAINTEXT']}"

    @property
    def log(self) -> Path:
        """Its main log: a broker's server.log."""
        return self.folder / "logs" / self.kind.log

    @property
    def logs(self) -> tuple[Path, ...]:
        """All its logs that are not empty: a broker also writes controller.log and state-change.log."""
        return tuple(path for path in sorted(self.log.parent.glob("*.log")) if path.stat().st_size)

    @property
    def capture_folder(self) -> str:
        """The folder of its files in a capture: brokers/1, zookeeper."""
        return self.kind.capture_folder.format(id=self.id)

    @property
    def is_running(self) -> bool:
        """Whether its process has not ended."""
        return self.program is not None and self.program.is_running

    def create_folder(self) -> None:
        """Write its folder anew: settings, logging, no data."""
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "logs").mkdir(parents=True)
        (self.folder / self.kind.logging_file).write_text(self.kind.logging, encoding="utf-8")
        lines = [f"{key}={value}\n" for key, value in self.settings.items()]
        (self.folder / self.kind.settings).write_text("".join(lines), encoding="utf-8")
        if self.plan.is_monitored and {"PLAINTEXT", "CONTROLLER"} & set(self.ports):
            self.metrics_port = metrics_agent.prepare(self.folder)

    def java(self, main: str, *arguments: str, heap_mb: int = 128, jvm_options: tuple[str, ...] = ()) -> Program:
        """Start one of Kafka's own programs in this node's folder; its output goes to output.log there."""
        options = ["-Dkafka.logs.dir=logs", self.kind.logging_option, *jvm_options]
        class_path = jars.fetch_jars(f"kafka-{self.plan.kafka}")
        command = [*runtime.java_command(main, class_path, heap_mb=heap_mb, options=options), *arguments]
        output = self.folder / "output.log"
        return Program.start(
            main.rpartition(".")[2],
            command,
            folder=self.folder,
            errors=output,
            output=output,
            environment=UTC_CLOCK,
            netns_entry=self.plan.namespace(self.id).netns_entry,
        )

    def launch(self) -> None:
        """Start it and return at once."""
        self._log_offset = self.log.stat().st_size if self.log.exists() else 0
        self.starts += 1
        with defer_interrupts():
            self.program = self.java(
                self.kind.main, self.kind.settings, heap_mb=self.plan.heap_mb, jvm_options=self._jvm_options()
            )

    def _jvm_options(self) -> tuple[str, ...]:
        """Return the options of a broker's JVM that tools do not get."""
        agent = () if self.metrics_port is None else metrics_agent.options(self.metrics_port)
        return (*self.plan.jvm_options, *agent) if "PLAINTEXT" in self.ports else agent

    def start(self) -> None:
        """Start it and wait until it serves; once more if it hangs or dies on the way."""
        if not self.is_running:
            self.launch()
        for deadline in self.plan.start_within:
            if not self.is_running:
                self.launch()
            with suppress(BrokerDidNotStart):
                wait_for(self._ready, timeout=deadline, what=f"broker {self.id}", error=BrokerDidNotStart)
                return
            self.kill()
        raise BrokerDidNotStart(
            f"Broker {self.id} did not start in {self.starts} tries. The end of its logs:\n{self._log_end()}"
        )

    def _ready(self) -> bool:
        if self.is_running:
            return self.kind.ready_line in self._log_since_launch()
        if not self.kind.name_taken_line or self.kind.name_taken_line not in self._log_since_launch():
            raise BrokerDidNotStart(f"Broker {self.id} ended while it started.")
        self.launch()
        return False

    def _log_since_launch(self) -> str:
        """Return its log since it was launched."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as file:
            file.seek(self._log_offset)
            return file.read().decode(errors="replace")

    def _log_end(self) -> str:
        files = (self.folder / "output.log", self.log)
        return "\n".join(path.read_text(errors="replace")[-1500:] for path in files if path.exists())

    def stop(self, *, by: signal.Signals = signal.SIGTERM) -> None:
        """Stop it by a signal, and kill it if that does not help."""
        if self.program is not None:
            self.program.stop(by=by, timeout=STOP_TIMEOUT)

    def kill(self) -> None:
        """End it now."""
        if self.program is not None:
            self.program.kill()


def minimal_settings(brokers: int) -> dict[str, str]:
    """Return settings of a broker that runs for a minute: little memory, few threads, no initial rebalance delay."""
    replicas = str(min(3, brokers))
    return {
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": "1",
        "offsets.topic.replication.factor": replicas,
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.num.partitions": "1",
        "num.network.threads": "2",
        "num.io.threads": "2",
        "group.initial.rebalance.delay.ms": "0",
        "auto.create.topics.enable": "false",
        "log.cleaner.dedupe.buffer.size": "2000000",
    }


def listeners_setting(ports: Mapping[str, int], address: str = ADDRESS) -> str:
    """Return listeners as the value of `listeners`."""
    return ",".join(f"{name}://{address}:{port}" for name, port in ports.items())


def assign_listeners(plan: ClusterPlan, node_id: int, ports: list[int]) -> tuple[dict[str, int], dict[str, int]]:
    """Take a broker's listeners from `ports`: what it listens on, and what it advertises."""
    listeners = {"PLAINTEXT": ports[0], **({"PROXY": ports[1]} if node_id in plan.proxy_ports else {})}
    return listeners, listeners | ({"PROXY": plan.proxy_ports[node_id]} if node_id in plan.proxy_ports else {})
