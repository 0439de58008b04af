"""One to n real Kafka brokers on 127.0.0.1, in a temporary folder, gone without trace afterwards."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from leadsman import jars, java
from leadsman.errors import LabError
from leadsman.lab import errand, kraft, zookeeper
from leadsman.lab.ledger import read_topic
from leadsman.lab.node import CLOCK, START_WITHIN, Broker, Plan
from leadsman.lab.ports import ADDRESS
from leadsman.lab.process import TOOL_WITHIN, Program
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

CREATED_WITHIN = timedelta(seconds=60)

__all__ = ["ADDRESS", "CLOCK", "START_WITHIN", "TOOL_WITHIN", "Broker", "Cluster", "Plan", "versions"]


def versions() -> tuple[str, ...]:
    """Every version of Kafka that brokers can be had at, oldest first."""
    names = [name.removeprefix("kafka-") for name in jars.lock() if name.startswith("kafka-")]
    return tuple(sorted(names, key=lambda version: [int(part) for part in version.split(".")]))


@dataclass(slots=True)
class Cluster:
    """Brokers with what keeps them together. As a context manager: running inside, stopped and removed afterwards."""

    plan: Plan
    nodes: tuple[Broker, ...] = ()
    _stack: ExitStack = field(default_factory=ExitStack)

    @property
    def folder(self) -> Path:
        """Where all nodes have their folders."""
        return self.nodes[0].folder.parent

    @property
    def brokers(self) -> tuple[Broker, ...]:
        """The nodes that serve clients, by ascending id."""
        return tuple(node for node in self.nodes if "PLAINTEXT" in node.ports)

    @property
    def bootstrap(self) -> str:
        """The direct addresses of all brokers."""
        return ",".join(node.bootstrap for node in self.brokers)

    def __enter__(self) -> Self:
        if self.plan.kafka not in versions():
            raise LabError(f"The lab has no brokers of Kafka {self.plan.kafka}. It has: {', '.join(versions())}.")
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadsman-lab-")))
            self.nodes = (zookeeper if self.plan.with_zookeeper else kraft).lay_out(self.plan, folder)
            for node in self.nodes:
                stack.callback(node.kill)
            self._start()
            self._stack = stack.pop_all()
        return self

    def _start(self) -> None:
        """Start side by side all that need not wait for one another."""
        if not self.plan.with_zookeeper:
            kraft.prepare(self.nodes)
        for node in self.nodes:
            if node.kind.first:
                node.start()
        for node in self.nodes:
            if not node.running:
                node.launch()
        for node in self.nodes:
            node.start()

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = 1,
        replicas: int = 1,
        assigned: Sequence[Sequence[int]] = (),
        config: Mapping[str, str] | None = None,
    ) -> None:
        """Create a topic and return when every broker can be asked for it.

        `assigned` are the brokers of each partition, the preferred leader first; it goes before the two numbers.
        """
        shape = {"partitions": partitions, "replicas": replicas, "assigned": [list(brokers) for brokers in assigned]}
        shape["config"] = dict(config or {})
        errand.run(self.plan.tools, create_topic, bootstrap=self.bootstrap, name=name, **shape)

    def read_topic(self, name: str) -> list[str]:
        """Return every value that a topic holds now."""
        return errand.run(self.plan.tools, read_topic, bootstrap=self.bootstrap, topic=name)

    def describe_topics(self) -> Program:
        """Start `kafka-topics --describe`; its output is in the pipe."""
        main = "kafka.admin.TopicCommand" if self.plan.with_zookeeper else "org.apache.kafka.tools.TopicCommand"
        node = self.nodes[0]
        options = [node.kind.logging_option]
        command = java.command(main, jars.fetch(f"kafka-{self.plan.kafka}"), heap_mb=128, options=options)
        arguments = ["--bootstrap-server", self.bootstrap, "--describe"]
        return Program.start(
            "kafka-topics",
            [*command, *arguments],
            folder=node.folder,
            errors=node.folder / "tools.log",
            way=self.plan.tools.way,
        )


def create_topic(
    *,
    bootstrap: str,
    name: str,
    partitions: int,
    replicas: int,
    assigned: list[list[int]],
    config: dict[str, str],
) -> None:
    """Create a topic from here; see `Cluster.create_topic`."""
    from confluent_kafka.admin import AdminClient  # noqa: PLC0415 (the lab's extra)
    from confluent_kafka.cimpl import NewTopic  # noqa: PLC0415 (the same)

    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    if assigned:
        topic = NewTopic(name, len(assigned), replica_assignment=assigned, config=config)
    else:
        topic = NewTopic(name, partitions, replicas, config=config)
    wait_for(partial(_created, admin, topic), within=CREATED_WITHIN, what=f"the topic {name}", error=LabError)


def _created(admin: AdminClient, topic: NewTopic) -> bool:
    """Try once. A request that goes out while an old cluster still elects its controller is never answered."""
    from confluent_kafka import KafkaError, KafkaException  # noqa: PLC0415 (the lab's extra)

    made = admin.create_topics([topic], operation_timeout=10, request_timeout=15)
    try:
        made[topic.topic].result()
    except KafkaException as error:
        if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
            return True
        if error.args[0].retriable() or error.args[0].code() == KafkaError._TIMED_OUT:  # noqa: SLF001 - so it is named
            return False
        raise
    return True
