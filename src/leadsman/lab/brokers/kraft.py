"""A KRaft cluster: brokers whose controller is a Kafka process too."""

from __future__ import annotations

import base64
import uuid
from contextlib import ExitStack
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.interrupt import defer_interrupts
from leadsman.lab.brokers.node import (
    Broker,
    ClusterPlan,
    ServerKind,
    assign_listeners,
    listeners_setting,
    minimal_settings,
)
from leadsman.lab.processes.program import TOOL_TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CONTROLLER_ID = 101
"""The node id of a controller that is a process of its own."""

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

log4j's shutdown hook is off: it races with the broker's, and the log then lacks the end of a controlled shutdown."""

BROKER = ServerKind(
    main="kafka.Kafka",
    capture_folder="brokers/{id}",
    log="server.log",
    settings="server.properties",
    ready_line="Kafka Server started",
    logging_file="log4j2.xml",
    logging=LOGGING,
    logging_option="-Dlog4j2.configurationFile=log4j2.xml",
)


def create_nodes(plan: ClusterPlan, folder: Path) -> tuple[Broker, ...]:
    """Create one broker that is its own controller, or brokers 1 to n and a dedicated controller."""
    dedicated = plan.brokers > 1
    controller = CONTROLLER_ID if dedicated else 1
    ports = plan.ports(2 * plan.brokers + 1)
    voters = f"{controller}@{plan.namespace(controller).host}:{ports[-1]}"
    nodes = []
    for node_id in [*range(1, plan.brokers + 1), *([CONTROLLER_ID] if dedicated else [])]:
        listeners, advertised = (
            ({}, {}) if node_id == CONTROLLER_ID else assign_listeners(plan, node_id, ports[2 * node_id - 2 :])
        )
        listeners |= {"CONTROLLER": ports[-1]} if node_id == controller else {}
        settings = _settings(plan, node_id, listeners, advertised=advertised) | {"controller.quorum.voters": voters}
        node = Broker(
            id=node_id, kind=BROKER, folder=folder / str(node_id), ports=listeners, settings=settings, plan=plan
        )
        node.create_folder()
        nodes.append(node)
    return tuple(nodes)


def _settings(
    plan: ClusterPlan, node_id: int, listeners: Mapping[str, int], *, advertised: Mapping[str, int]
) -> dict[str, str]:
    roles = (["broker"] if "PLAINTEXT" in listeners else []) + (["controller"] if "CONTROLLER" in listeners else [])
    replicas = str(min(3, plan.brokers))
    return {
        "process.roles": ",".join(roles),
        "node.id": str(node_id),
        "listeners": listeners_setting(listeners, plan.namespace(node_id).host),
        # A dedicated controller advertises nothing.
        **({"advertised.listeners": listeners_setting(advertised, plan.namespace(node_id).host)} if advertised else {}),
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PROXY:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": "data",
        **minimal_settings(plan.brokers),
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": "1",
        "share.coordinator.state.topic.num.partitions": "1",
        "controller.quorum.election.timeout.ms": "100",
        **plan.settings,
        **plan.settings_by_broker.get(node_id, {}),
    }


def format_storage(nodes: tuple[Broker, ...]) -> None:
    """Format all nodes' storage side by side: each format is a JVM of its own."""
    # A random first letter is "-" once in 64 times, and then the tool takes the identifier for an option.
    cluster_id = base64.urlsafe_b64encode(b"lab" + uuid.uuid4().bytes[3:]).decode().rstrip("=")
    with ExitStack() as stack:
        arguments = ("format", "-t", cluster_id, "-c", "server.properties")
        with defer_interrupts():
            tools = [stack.enter_context(node.java("kafka.tools.StorageTool", *arguments)) for node in nodes]
        for node, tool in zip(nodes, tools, strict=True):
            if tool.wait_for_exit(timeout=TOOL_TIMEOUT):
                raise LabError(f"Formatting node {node.id} failed:\n{(node.folder / 'output.log').read_text()}")
