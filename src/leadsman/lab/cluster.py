"""One to n real Kafka brokers on 127.0.0.1, in a temporary folder, gone without trace afterwards.

Every node runs in its own folder with relative paths, so that nothing of this machine stands in its logs.
"""

from __future__ import annotations

import base64
import random
import shutil
import signal
import socket
import tempfile
import uuid
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Self

from leadsman import jars, java
from leadsman.errors import BrokerDidNotStart, LabError
from leadsman.lab.process import Program, undisturbed
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping

START_WITHIN = (timedelta(seconds=30), timedelta(seconds=90))
"""Deadline of the first and of the second try. A quiet start takes 3 s, a busy one 15 s; 1 of 13 hung for ever."""

STOP_WITHIN = timedelta(seconds=20)
"""An orderly stop takes 0.6 s quiet, several seconds when busy; afterwards the broker is killed."""

TOOL_WITHIN = timedelta(seconds=90)
"""Format and admin tools are JVMs of their own: 1.4 s quiet, 15 s when two cores run ten of them."""

LOWEST_PORT = 20_000
"""Ports are taken between here and the range from which the kernel numbers outgoing connections: a client that keeps
knocking at a stopped broker's port in that range sooner or later connects to itself."""

READY = "Kafka Server started"
ADDRESS = "127.0.0.1"
CONTROLLER_ID = 101

CLOCK = {"TZ": "UTC"}
"""Log lines carry no zone. All programs of the lab write UTC."""

LOGGING = """<?xml version="1.0" encoding="UTF-8"?>
<Configuration status="ERROR">
  <Appenders>
    <File name="server" fileName="logs/server.log"><PatternLayout pattern="[%d] %p %m (%c)%n"/></File>
  </Appenders>
  <Loggers><Root level="INFO"><AppenderRef ref="server"/></Root></Loggers>
</Configuration>
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What cluster is wanted.

    `settings` hold for every broker, `per_broker` (by id, from 1) go before them. `through` names, by broker id, the
    port of a forwarder that stands before that broker's second listener, PROXY. `flavour` leaves room for the
    ZooKeeper era.
    """

    brokers: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)
    per_broker: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    through: Mapping[int, int] = field(default_factory=dict)
    own_controller: bool = False
    heap_mb: int = 256
    kafka: str = "4.3.1"
    flavour: str = "kraft"
    start_within: tuple[timedelta, ...] = START_WITHIN


@dataclass(slots=True, kw_only=True)
class Broker:
    """One node: a broker, a controller, or both. `ports` are by listener name."""

    id: int
    folder: Path
    ports: Mapping[str, int]
    settings: Mapping[str, str]
    plan: Plan
    program: Program | None = None
    starts: int = 0
    """Starts tried so far: more than one means that a start hung, or that a fault stopped the broker."""
    _read_from: int = 0

    @property
    def bootstrap(self) -> str:
        """The address of its direct listener."""
        return f"{ADDRESS}:{self.ports['PLAINTEXT']}"

    @property
    def log(self) -> Path:
        """Its server.log."""
        return self.folder / "logs" / "server.log"

    @property
    def running(self) -> bool:
        """Whether its process has not ended."""
        return self.program is not None and self.program.running

    def lay_out(self) -> None:
        """Write its folder anew: settings, logging, no data."""
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "logs").mkdir(parents=True)
        (self.folder / "log4j2.xml").write_text(LOGGING, encoding="utf-8")
        lines = [f"{key}={value}\n" for key, value in self.settings.items()]
        (self.folder / "server.properties").write_text("".join(lines), encoding="utf-8")

    def java(self, main: str, *arguments: str, heap_mb: int = 128) -> Program:
        """Start one of Kafka's own programs in this node's folder; what it prints goes to output.log there."""
        options = ["-Dkafka.logs.dir=logs", "-Dlog4j2.configurationFile=log4j2.xml"]
        class_path = jars.fetch(f"kafka-{self.plan.kafka}")
        command = [*java.command(main, class_path, heap_mb=heap_mb, options=options), *arguments]
        output = self.folder / "output.log"
        return Program.start(
            main.rpartition(".")[2], command, folder=self.folder, errors=output, output=output, environment=CLOCK
        )

    def launch(self) -> None:
        """Start it and return at once."""
        self._read_from = self.log.stat().st_size if self.log.exists() else 0
        self.starts += 1
        with undisturbed():
            self.program = self.java("kafka.Kafka", "server.properties", heap_mb=self.plan.heap_mb)

    def start(self) -> None:
        """Start it and wait until it serves; once more if it hangs or dies on the way."""
        if not self.running:
            self.launch()
        for deadline in self.plan.start_within:
            if not self.running:
                self.launch()
            with suppress(BrokerDidNotStart):
                wait_for(self._ready, within=deadline, what=f"broker {self.id}", error=BrokerDidNotStart)
                return
            self.kill()
        raise BrokerDidNotStart(
            f"Broker {self.id} did not start in {self.starts} tries. Its last words:\n{self._last_words()}"
        )

    def _ready(self) -> bool:
        if not self.running:
            raise BrokerDidNotStart(f"Broker {self.id} ended while it started.")
        with suppress(FileNotFoundError), self.log.open("rb") as file:
            file.seek(self._read_from)
            return READY.encode() in file.read()
        return False

    def _last_words(self) -> str:
        places = (self.folder / "output.log", self.log)
        return "\n".join(path.read_text(errors="replace")[-1500:] for path in places if path.exists())

    def stop(self, *, by: signal.Signals = signal.SIGTERM) -> None:
        """Stop it by a signal, and kill it if that does not help."""
        if self.program is not None:
            self.program.stop(by=by, within=STOP_WITHIN)

    def kill(self) -> None:
        """End it now."""
        if self.program is not None:
            self.program.kill()


@dataclass(slots=True)
class Cluster:
    """Brokers with their controller. As a context manager: running inside, stopped and removed afterwards."""

    plan: Plan
    nodes: tuple[Broker, ...] = ()
    _stack: ExitStack = field(default_factory=ExitStack)

    @property
    def brokers(self) -> tuple[Broker, ...]:
        """The nodes that serve clients, by ascending id."""
        return tuple(node for node in self.nodes if "PLAINTEXT" in node.ports)

    @property
    def bootstrap(self) -> str:
        """The direct addresses of all brokers."""
        return ",".join(node.bootstrap for node in self.brokers)

    def __enter__(self) -> Self:
        if self.plan.flavour != "kraft":
            raise LabError(f"The lab cannot run a {self.plan.flavour} cluster yet. It can: kraft.")
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadsman-lab-")))
            self.nodes = _lay_out(self.plan, folder)
            for node in self.nodes:
                stack.callback(node.kill)
            _format(self.nodes)
            for node in self.nodes:
                node.launch()
            for node in self.nodes:
                node.start()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def create_topic(self, name: str, *, partitions: int = 1, replicas: int = 1) -> None:
        """Create a topic and return when every broker can be asked for it."""
        from confluent_kafka.admin import AdminClient  # noqa: PLC0415 (the lab's extra)
        from confluent_kafka.cimpl import NewTopic  # noqa: PLC0415 (the same)

        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        made = admin.create_topics([NewTopic(name, partitions, replicas)], operation_timeout=30)
        made[name].result(timeout=60)

    def describe_topics(self) -> Program:
        """Start `kafka-topics --describe`; its output is in the pipe."""
        command = java.command(
            "org.apache.kafka.tools.TopicCommand", jars.fetch(f"kafka-{self.plan.kafka}"), heap_mb=128
        )
        arguments = ["--bootstrap-server", self.bootstrap, "--describe"]
        folder = self.nodes[0].folder
        return Program.start("kafka-topics", [*command, *arguments], folder=folder, errors=folder / "tools.log")


def _format(nodes: tuple[Broker, ...]) -> None:
    """Format all nodes at once: each is a JVM of its own."""
    # A random first letter is "-" once in 64 times, and then the tool takes the identifier for an option.
    cluster_id = base64.urlsafe_b64encode(b"lab" + uuid.uuid4().bytes[3:]).decode().rstrip("=")
    with ExitStack() as stack:
        arguments = ("format", "-t", cluster_id, "-c", "server.properties")
        with undisturbed():
            tools = [stack.enter_context(node.java("kafka.tools.StorageTool", *arguments)) for node in nodes]
        for node, tool in zip(nodes, tools, strict=True):
            if tool.ended(within=TOOL_WITHIN):
                raise LabError(f"Formatting node {node.id} failed:\n{(node.folder / 'output.log').read_text()}")


def _lay_out(plan: Plan, folder: Path) -> tuple[Broker, ...]:
    ids = [*range(1, plan.brokers + 1), *([CONTROLLER_ID] if plan.own_controller else [])]
    controller = ids[-1] if plan.own_controller else 1
    ports = _free_ports(2 * len(ids) + 1)
    controller_port = ports.pop()
    nodes = []
    for node_id in ids:
        listeners: dict[str, int] = {}
        if node_id != CONTROLLER_ID:
            listeners["PLAINTEXT"] = ports.pop()
            listeners |= {"PROXY": ports.pop()} if node_id in plan.through else {}
        if node_id == controller:
            listeners["CONTROLLER"] = controller_port
        voters = f"{controller}@{ADDRESS}:{controller_port}"
        settings = _settings(plan, node_id, listeners) | {"controller.quorum.voters": voters}
        nodes.append(Broker(id=node_id, folder=folder / str(node_id), ports=listeners, settings=settings, plan=plan))
        nodes[-1].lay_out()
    return tuple(nodes)


def _settings(plan: Plan, node_id: int, listeners: Mapping[str, int]) -> dict[str, str]:
    roles = (["broker"] if "PLAINTEXT" in listeners else []) + (["controller"] if "CONTROLLER" in listeners else [])
    # What clients are told. A controller of its own advertises nothing.
    told = {name: port for name, port in listeners.items() if name != "CONTROLLER"}
    told |= {"PROXY": plan.through[node_id]} if "PROXY" in told else {}
    advertised = {"advertised.listeners": _listeners(told)} if told else {}
    return {
        "process.roles": ",".join(roles),
        "node.id": str(node_id),
        "listeners": _listeners(listeners),
        **advertised,
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PROXY:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": "data",
        **_small(min(3, plan.brokers)),
        **plan.settings,
        **plan.per_broker.get(node_id, {}),
    }


def _small(replicas: int) -> dict[str, str]:
    """Return settings of a broker that lives for a minute: little memory, few threads, no waiting for more members."""
    return {
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": str(replicas),
        "share.coordinator.state.topic.min.isr": "1",
        "offsets.topic.replication.factor": str(replicas),
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.num.partitions": "1",
        "share.coordinator.state.topic.num.partitions": "1",
        "num.network.threads": "2",
        "num.io.threads": "2",
        "group.initial.rebalance.delay.ms": "0",
        "auto.create.topics.enable": "false",
        "log.cleaner.dedupe.buffer.size": "2000000",
        "controller.quorum.election.timeout.ms": "100",
    }


def _listeners(ports: Mapping[str, int]) -> str:
    return ",".join(f"{name}://{ADDRESS}:{port}" for name, port in ports.items())


def _free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on now. All are held while the next is sought, so none comes twice."""
    lowest_outgoing = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    candidates = random.sample(range(LOWEST_PORT, max(lowest_outgoing, LOWEST_PORT + 5000)), 50 * count)
    found: list[int] = []
    with ExitStack() as held:
        for port in candidates:
            sock = held.enter_context(closing(socket.socket()))
            with suppress(OSError):
                sock.bind((ADDRESS, port))
                found.append(port)
            if len(found) == count:
                return found
    raise LabError(f"No {count} free ports on {ADDRESS} between {LOWEST_PORT} and {lowest_outgoing}.")
