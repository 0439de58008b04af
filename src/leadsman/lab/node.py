"""One node of a cluster: a Java server in a folder of its own, held by handle.

Every node runs with relative paths, so that nothing of this machine stands in its logs.
"""

from __future__ import annotations

import shutil
import signal
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from leadsman import jars, java
from leadsman.errors import BrokerDidNotStart
from leadsman.interrupt import undisturbed
from leadsman.lab import metrics
from leadsman.lab.ports import ADDRESS, free_ports
from leadsman.lab.process import HERE, Place, Program
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

START_WITHIN = (timedelta(seconds=30), timedelta(seconds=90))
"""Deadline of the first and of the second try. A quiet start takes 3 s, a busy one 15 s; 1 of 13 hung for ever."""

STOP_WITHIN = timedelta(seconds=20)
"""An orderly stop takes 0.6 s quiet, several seconds when busy; afterwards the broker is killed."""

CLOCK = {"TZ": "UTC"}
"""Log lines carry no zone. All programs of the lab write UTC."""

FIRST_WITHOUT_ZOOKEEPER = (4,)
"""The version since which a broker can run without ZooKeeper only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What cluster is wanted. Brokers before 4.0 run with ZooKeeper; later ones, when several, with a controller apart.

    `settings` hold for every broker and controller, `per_broker` (by id, from 1) go before them. `through` names, by
    broker id, the port of a forwarder that stands before that broker's second listener, PROXY. `places` are the
    networks that nodes run in, by id, where that is not this machine's own; `tools` is where what asks them runs.
    `jvm` are options of each broker's Java. `watched`: brokers have a metrics agent and a log of their garbage
    collector.
    """

    brokers: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)
    per_broker: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    through: Mapping[int, int] = field(default_factory=dict)
    heap_mb: int = 256
    jvm: tuple[str, ...] = ()
    watched: bool = False
    kafka: str = "4.3.1"
    places: Mapping[int, Place] = field(default_factory=dict)
    tools: Place = HERE
    start_within: tuple[timedelta, ...] = START_WITHIN

    def place(self, node_id: int) -> Place:
        """Return where a node runs."""
        return self.places.get(node_id, HERE)

    def ports(self, count: int) -> list[int]:
        """Return ports to listen on. Instances with addresses of their own listen where everybody's do."""
        return [9092, 9094] * (count // 2) + [9093] if self.places else free_ports(count)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The version as numbers, to compare."""
        return tuple(int(part) for part in self.kafka.split("."))

    @property
    def with_zookeeper(self) -> bool:
        """Whether brokers of this version need ZooKeeper."""
        return self.numbers < FIRST_WITHOUT_ZOOKEEPER


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What varies between today's broker, a broker of the ZooKeeper era, and ZooKeeper itself.

    `log` and `settings` are file names; `ready` stands in the log once it serves. `logging` is the text of the file
    that `logging_file` names, and `logging_option` tells Java of it. `busy` stands in the log when it ended because
    the cluster still holds it for alive: then it is started again until the deadline. `first`: others wait for it.
    """

    main: str
    place: str
    log: str
    settings: str
    ready: str
    logging_file: str
    logging: str
    logging_option: str
    busy: str = ""
    first: bool = False


@dataclass(slots=True, kw_only=True)
class Broker:
    """One node: a broker, a controller, both, or ZooKeeper. `ports` are by listener name."""

    id: int
    kind: Kind
    folder: Path
    ports: Mapping[str, int]
    settings: Mapping[str, str]
    plan: Plan
    program: Program | None = None
    starts: int = 0
    """Starts tried so far: more than one means that a start hung, or that a fault stopped the broker."""
    metrics_port: int | None = None
    """Where its metrics agent answers."""
    _read_from: int = 0

    @property
    def bootstrap(self) -> str:
        """The address of its direct listener."""
        return f"{self.plan.place(self.id).host}:{self.ports['PLAINTEXT']}"

    @property
    def log(self) -> Path:
        """Its main log: a broker's server.log."""
        return self.folder / "logs" / self.kind.log

    @property
    def logs(self) -> tuple[Path, ...]:
        """All its logs that hold anything: a broker also writes controller.log and state-change.log."""
        return tuple(path for path in sorted(self.log.parent.glob("*.log")) if path.stat().st_size)

    @property
    def place(self) -> str:
        """Where a capture keeps its files: brokers/1, zookeeper."""
        return self.kind.place.format(id=self.id)

    @property
    def running(self) -> bool:
        """Whether its process has not ended."""
        return self.program is not None and self.program.running

    def lay_out(self) -> None:
        """Write its folder anew: settings, logging, no data."""
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "logs").mkdir(parents=True)
        (self.folder / self.kind.logging_file).write_text(self.kind.logging, encoding="utf-8")
        lines = [f"{key}={value}\n" for key, value in self.settings.items()]
        (self.folder / self.kind.settings).write_text("".join(lines), encoding="utf-8")
        if self.plan.watched and "PLAINTEXT" in self.ports:
            self.metrics_port = metrics.prepare(self.folder)

    def java(self, main: str, *arguments: str, heap_mb: int = 128, jvm: tuple[str, ...] = ()) -> Program:
        """Start one of Kafka's own programs in this node's folder; what it prints goes to output.log there."""
        options = ["-Dkafka.logs.dir=logs", self.kind.logging_option, *jvm]
        class_path = jars.fetch(f"kafka-{self.plan.kafka}")
        command = [*java.command(main, class_path, heap_mb=heap_mb, options=options), *arguments]
        output = self.folder / "output.log"
        return Program.start(
            main.rpartition(".")[2],
            command,
            folder=self.folder,
            errors=output,
            output=output,
            environment=CLOCK,
            way=self.plan.place(self.id).way,
        )

    def launch(self) -> None:
        """Start it and return at once."""
        self._read_from = self.log.stat().st_size if self.log.exists() else 0
        self.starts += 1
        with undisturbed():
            self.program = self.java(self.kind.main, self.kind.settings, heap_mb=self.plan.heap_mb, jvm=self._jvm())

    def _jvm(self) -> tuple[str, ...]:
        """Return the options that only a broker's Java gets, and no tool's."""
        if "PLAINTEXT" not in self.ports:
            return ()
        watched = () if self.metrics_port is None else metrics.options(self.metrics_port)
        return (*self.plan.jvm, *watched)

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
        if self.running:
            return self.kind.ready in self._said()
        if not self.kind.busy or self.kind.busy not in self._said():
            raise BrokerDidNotStart(f"Broker {self.id} ended while it started.")
        self.launch()
        return False

    def _said(self) -> str:
        """Return what its log holds since it was launched."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as file:
            file.seek(self._read_from)
            return file.read().decode(errors="replace")

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


def small_settings(brokers: int) -> dict[str, str]:
    """Return settings of a broker that lives for a minute: little memory, few threads, no waiting for more members."""
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


def written(ports: Mapping[str, int], address: str = ADDRESS) -> str:
    """Return listeners in the form of a setting."""
    return ",".join(f"{name}://{address}:{port}" for name, port in ports.items())


def listeners_of(plan: Plan, node_id: int, ports: list[int]) -> tuple[dict[str, int], dict[str, int]]:
    """Take a broker's listeners from `ports`: what it listens on, and what clients are told."""
    listens = {"PLAINTEXT": ports[0], **({"PROXY": ports[1]} if node_id in plan.through else {})}
    return listens, listens | ({"PROXY": plan.through[node_id]} if node_id in plan.through else {})
