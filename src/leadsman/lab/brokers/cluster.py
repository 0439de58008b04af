"""One to n real Kafka brokers on 127.0.0.1, in a temporary folder; stopping removes everything."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from leadsman.errors import LabError
from leadsman.java import jars, runtime
from leadsman.lab.brokers import kraft, zookeeper
from leadsman.lab.brokers.node import START_TIMEOUT, UTC_CLOCK, Broker, ClusterPlan
from leadsman.lab.oracles.ledger import read_topic
from leadsman.lab.processes import netns_call
from leadsman.lab.processes.ports import ADDRESS
from leadsman.lab.processes.program import TOOL_TIMEOUT, Program
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

CREATED_TIMEOUT = timedelta(seconds=60)

__all__ = ["ADDRESS", "START_TIMEOUT", "TOOL_TIMEOUT", "UTC_CLOCK", "Broker", "Cluster", "ClusterPlan", "versions"]


def versions() -> tuple[str, ...]:
    """Every Kafka version that the lab has brokers of, oldest first."""
    names = [name.removeprefix("kafka-") for name in jars.jar_sets() if name.startswith("kafka-")]
    return tuple(sorted(names, key=lambda version: [int(part) for part in version.split(".")]))


@dataclass(slots=True)
class Cluster:
    """Brokers and their controller or ZooKeeper. As a context manager: running inside, removed afterwards."""

    plan: ClusterPlan
    nodes: tuple[Broker, ...] = ()
    _stack: ExitStack = field(default_factory=ExitStack)

    @property
    def folder(self) -> Path:
        """The folder that holds all nodes' folders."""
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
            self.nodes = (zookeeper if self.plan.has_zookeeper else kraft).create_nodes(self.plan, folder)
            for node in self.nodes:
                stack.callback(node.kill)
            self._start()
            self._stack = stack.pop_all()
        return self

    def _start(self) -> None:
        """Start side by side all nodes that need not wait for one another."""
        if not self.plan.has_zookeeper:
            kraft.format_storage(self.nodes)
        for node in self.nodes:
            if node.kind.starts_first:
                node.start()
        for node in self.nodes:
            if not node.is_running:
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
        replica_assignment: Sequence[Sequence[int]] = (),
        config: Mapping[str, str] | None = None,
    ) -> None:
        """Create a topic and return when every broker knows it.

        `replica_assignment` lists each partition's brokers, the preferred leader first; it overrides the two numbers.
        """
        layout = {
            "partitions": partitions,
            "replicas": replicas,
            "replica_assignment": [list(brokers) for brokers in replica_assignment],
        }
        layout["config"] = dict(config or {})
        netns_call.call(self.plan.tools_namespace, create_topic, bootstrap=self.bootstrap, name=name, **layout)

    def read_topic(self, name: str) -> list[str]:
        """Return every value that a topic holds now."""
        return netns_call.call(self.plan.tools_namespace, read_topic, bootstrap=self.bootstrap, topic=name)

    def describe_topics(self) -> Program:
        """Start `kafka-topics --describe`; its standard output is a pipe."""
        main = "kafka.admin.TopicCommand" if self.plan.has_zookeeper else "org.apache.kafka.tools.TopicCommand"
        node = self.nodes[0]
        options = [node.kind.logging_option]
        command = runtime.java_command(main, jars.fetch_jars(f"kafka-{self.plan.kafka}"), heap_mb=128, options=options)
        arguments = ["--bootstrap-server", self.bootstrap, "--describe"]
        return Program.start(
            "kafka-topics",
            [*command, *arguments],
            folder=node.folder,
            errors=node.folder / "tools.log",
            netns_entry=self.plan.tools_namespace.netns_entry,
        )


def create_topic(
    *,
    bootstrap: str,
    name: str,
    partitions: int,
    replicas: int,
    replica_assignment: list[list[int]],
    config: dict[str, str],
) -> None:
    """Create a topic from the calling process's network; see `Cluster.create_topic`."""
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    if replica_assignment:
        topic = NewTopic(name, len(replica_assignment), replica_assignment=replica_assignment, config=config)
    else:
        topic = NewTopic(name, partitions, replicas, config=config)
    wait_for(partial(_try_to_create, admin, topic), timeout=CREATED_TIMEOUT, what=f"the topic {name}", error=LabError)


def _try_to_create(admin: AdminClient, topic: NewTopic) -> bool:
    """Try once. A request that is sent while an old cluster still elects its controller is never answered."""
    from confluent_kafka import KafkaError, KafkaException

    futures = admin.create_topics([topic], operation_timeout=10, request_timeout=15)
    try:
        futures[topic.topic].result()
    except KafkaException as error:
        if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
            return True
        if error.args[0].retriable() or error.args[0].code() == KafkaError._TIMED_OUT:  # noqa: SLF001 - the library's name
            return False
        raise
    return True
