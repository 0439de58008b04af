"""A cluster of today: brokers whose controller is a Kafka process too."""

from __future__ import annotations

import base64
import uuid
from contextlib import ExitStack
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.interrupt import undisturbed
from leadsman.lab.node import (
    Broker,
    Kind,
    Plan,
    listeners_of,
    small_settings,
    written,
)
from leadsman.lab.process import TOOL_WITHIN

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CONTROLLER_ID = 101
"""Of a controller that is a process of its own."""

LOGGING = """<?xml version="1.0" encoding="UTF-8"?>
<Configuration status="ERROR" shutdownHook="disable">
  <Appenders>
    <File name="server" fileName="logs/server.log"><PatternLayout pattern="[%d] %p %m (%c)%n"/></File>
    <File name="controller" fileName="logs/controller.log"><PatternLayout pattern="[%d] %p %m (%c)%n"/></File>
    <File name="state" fileName="logs/state-change.log"><PatternLayout pattern="[%d] %p %m (%c)%n"/></File>
  </Appenders>
  <Loggers>
    <Root level="INFO"><AppenderRef ref="server"/></Root>
    <Logger name="org.apache.kafka.controller" level="INFO" additivity="false"><AppenderRef ref="controller"/></Logger>
    <Logger name="kafka.controller" level="INFO" additivity="false"><AppenderRef ref="controller"/></Logger>
    <Logger name="state.change.logger" level="INFO" additivity="false"><AppenderRef ref="state"/></Logger>
  </Loggers>
</Configuration>
"""
"""The three files of Kafka's own log4j2.yaml, with its levels.

log4j's shutdown hook is off: it races with the broker's, and a broker that stops in order then does not say so."""

BROKER = Kind(
    main="kafka.Kafka",
    place="brokers/{id}",
    log="server.log",
    settings="server.properties",
    ready="Kafka Server started",
    logging_file="log4j2.xml",
    logging=LOGGING,
    logging_option="-Dlog4j2.configurationFile=log4j2.xml",
)


def lay_out(plan: Plan, folder: Path) -> tuple[Broker, ...]:
    """Lay out one broker that is its own controller, or brokers 1 to n and a controller apart."""
    apart = plan.brokers > 1
    controller = CONTROLLER_ID if apart else 1
    ports = plan.ports(2 * plan.brokers + 1)
    voters = f"{controller}@{plan.place(controller).host}:{ports[-1]}"
    nodes = []
    for node_id in [*range(1, plan.brokers + 1), *([CONTROLLER_ID] if apart else [])]:
        listens, told = ({}, {}) if node_id == CONTROLLER_ID else listeners_of(plan, node_id, ports[2 * node_id - 2 :])
        listens |= {"CONTROLLER": ports[-1]} if node_id == controller else {}
        settings = _settings(plan, node_id, listens, told=told) | {"controller.quorum.voters": voters}
        node = Broker(
            id=node_id, kind=BROKER, folder=folder / str(node_id), ports=listens, settings=settings, plan=plan
        )
        node.lay_out()
        nodes.append(node)
    return tuple(nodes)


def _settings(plan: Plan, node_id: int, listens: Mapping[str, int], *, told: Mapping[str, int]) -> dict[str, str]:
    roles = (["broker"] if "PLAINTEXT" in listens else []) + (["controller"] if "CONTROLLER" in listens else [])
    replicas = str(min(3, plan.brokers))
    return {
        "process.roles": ",".join(roles),
        "node.id": str(node_id),
        "listeners": written(listens, plan.place(node_id).host),
        # A controller of its own advertises nothing.
        **({"advertised.listeners": written(told, plan.place(node_id).host)} if told else {}),
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PROXY:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": "data",
        **small_settings(plan.brokers),
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": "1",
        "share.coordinator.state.topic.num.partitions": "1",
        "controller.quorum.election.timeout.ms": "100",
        **plan.settings,
        **plan.per_broker.get(node_id, {}),
    }


def prepare(nodes: tuple[Broker, ...]) -> None:
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
