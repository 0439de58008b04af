"""A cluster of the ZooKeeper era: ZooKeeper, and brokers of which one is the controller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.lab.brokers.node import (
    Broker,
    ClusterPlan,
    ServerKind,
    assign_listeners,
    listeners_setting,
    minimal_settings,
)
from leadsman.lab.processes.ports import ADDRESS, free_ports

if TYPE_CHECKING:
    from pathlib import Path

ZOOKEEPER_ID = 0

LONGEST_SESSION_MS = 3_600_000
"""ZooKeeper cuts a session to 20 of its ticks (40 s) unless it is advertised otherwise."""

CHANGES_AT_INFO = (2, 6)
"""The first version whose log4j.properties has the state-change log at INFO; before it was TRACE."""


def _appender(name: str, file: str) -> str:
    return (
        f"log4j.appender.{name}=org.apache.log4j.FileAppender\n"
        f"log4j.appender.{name}.File=logs/{file}\n"
        f"log4j.appender.{name}.layout=org.apache.log4j.PatternLayout\n"
        f"log4j.appender.{name}.layout.ConversionPattern=[%d] %p %m (%c)%n\n"
    )


def _broker_kind(plan: ClusterPlan) -> ServerKind:
    return ServerKind(
        main="kafka.Kafka",
        capture_folder="brokers/{id}",
        log="server.log",
        settings="server.properties",
        ready_line="started (kafka.server.KafkaServer)",
        logging_file="log4j.properties",
        logging=_broker_logging("INFO" if plan.version_numbers >= CHANGES_AT_INFO else "TRACE"),
        logging_option="-Dlog4j.configuration=file:log4j.properties",
        # A killed broker's ZooKeeper session outlives it; until the session ends, the broker's id is taken.
        name_taken_line="NodeExists",
    )


def _broker_logging(changes: str) -> str:
    """Return the three log files and the levels of Kafka's own log4j.properties."""
    return (
        "log4j.rootLogger=INFO, kafkaAppender\n"
        + _appender("kafkaAppender", "server.log")
        + _appender("controllerAppender", "controller.log")
        + _appender("stateChangeAppender", "state-change.log")
        + "log4j.logger.kafka.controller=TRACE, controllerAppender\n"
        "log4j.additivity.kafka.controller=false\n"
        f"log4j.logger.state.change.logger={changes}, stateChangeAppender\n"
        "log4j.additivity.state.change.logger=false\n"
    )


ZOOKEEPER = ServerKind(
    main="org.apache.zookeeper.server.quorum.QuorumPeerMain",
    capture_folder="zookeeper",
    log="zookeeper.log",
    settings="zoo.cfg",
    ready_line="binding to port",
    logging_file="log4j.properties",
    logging="log4j.rootLogger=INFO, file\n" + _appender("file", "zookeeper.log"),
    logging_option="-Dlog4j.configuration=file:log4j.properties",
    starts_first=True,
)


def create_nodes(plan: ClusterPlan, folder: Path) -> tuple[Broker, ...]:
    """Create ZooKeeper and brokers 1 to n."""
    ports = free_ports(2 * plan.brokers + 1)
    nodes = [_zookeeper(plan, folder / "zookeeper", ports[-1])]
    nodes += [_broker(plan, folder, node_id, ports=ports) for node_id in range(1, plan.brokers + 1)]
    for node in nodes:
        node.create_folder()
    return tuple(nodes)


def _zookeeper(plan: ClusterPlan, folder: Path, port: int) -> Broker:
    settings = {
        "tickTime": "2000",
        "dataDir": "data",
        "clientPort": str(port),
        "clientPortAddress": ADDRESS,
        "maxClientCnxns": "0",
        "minSessionTimeout": "2000",
        "maxSessionTimeout": str(LONGEST_SESSION_MS),
        "admin.enableServer": "false",
    }
    ports = {"ZOOKEEPER": port}
    return Broker(id=ZOOKEEPER_ID, kind=ZOOKEEPER, folder=folder, ports=ports, settings=settings, plan=plan)


def _broker(plan: ClusterPlan, folder: Path, node_id: int, *, ports: list[int]) -> Broker:
    listeners, advertised = assign_listeners(plan, node_id, ports[2 * node_id - 2 :])
    settings = {
        "broker.id": str(node_id),
        "listeners": listeners_setting(listeners),
        "advertised.listeners": listeners_setting(advertised),
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,PROXY:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "zookeeper.connect": f"{ADDRESS}:{ports[-1]}",
        "zookeeper.connection.timeout.ms": "30000",
        "log.dirs": "data",
        **minimal_settings(plan.brokers),
        **plan.settings,
        **plan.settings_by_broker.get(node_id, {}),
    }
    return Broker(
        id=node_id, kind=_broker_kind(plan), folder=folder / str(node_id), ports=listeners, settings=settings, plan=plan
    )
