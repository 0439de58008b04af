"""A cluster of the years before KRaft: ZooKeeper, and brokers of which one is the controller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.lab.node import (
    Broker,
    Kind,
    Plan,
    listeners_of,
    small_settings,
    written,
)
from leadsman.lab.ports import ADDRESS, free_ports

if TYPE_CHECKING:
    from pathlib import Path

ZOOKEEPER_ID = 0

LONGEST_SESSION_MS = 3_600_000
"""ZooKeeper cuts a session to 20 of its ticks (40 s) unless it is told otherwise."""

CHANGES_AT_INFO = (2, 6)
"""The first version whose log4j.properties has the state-change log at INFO; before it was TRACE."""


def _appender(name: str, file: str) -> str:
    return (
        f"log4j.appender.{name}=org.apache.log4j.FileAppender\n"
        f"log4j.appender.{name}.File=logs/{file}\n"
        f"log4j.appender.{name}.layout=org.apache.log4j.PatternLayout\n"
        f"log4j.appender.{name}.layout.ConversionPattern=[%d] %p %m (%c)%n\n"
    )


def _broker_kind(plan: Plan) -> Kind:
    return Kind(
        main="kafka.Kafka",
        place="brokers/{id}",
        log="server.log",
        settings="server.properties",
        ready="started (kafka.server.KafkaServer)",
        logging_file="log4j.properties",
        logging=_broker_logging("INFO" if plan.numbers >= CHANGES_AT_INFO else "TRACE"),
        logging_option="-Dlog4j.configuration=file:log4j.properties",
        # A killed broker's session outlives it, and while it does the name of the broker is taken.
        busy="NodeExists",
    )


def _broker_logging(changes: str) -> str:
    """Return the three files and the levels of the log4j.properties that Kafka comes with."""
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


ZOOKEEPER = Kind(
    main="org.apache.zookeeper.server.quorum.QuorumPeerMain",
    place="zookeeper",
    log="zookeeper.log",
    settings="zoo.cfg",
    ready="binding to port",
    logging_file="log4j.properties",
    logging="log4j.rootLogger=INFO, file\n" + _appender("file", "zookeeper.log"),
    logging_option="-Dlog4j.configuration=file:log4j.properties",
    first=True,
)


def lay_out(plan: Plan, folder: Path) -> tuple[Broker, ...]:
    """Lay out ZooKeeper and brokers 1 to n."""
    ports = free_ports(2 * plan.brokers + 1)
    nodes = [_zookeeper(plan, folder / "zookeeper", ports[-1])]
    nodes += [_broker(plan, folder, node_id, ports=ports) for node_id in range(1, plan.brokers + 1)]
    for node in nodes:
        node.lay_out()
    return tuple(nodes)


def _zookeeper(plan: Plan, folder: Path, port: int) -> Broker:
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


def _broker(plan: Plan, folder: Path, node_id: int, *, ports: list[int]) -> Broker:
    listens, told = listeners_of(plan, node_id, ports[2 * node_id - 2 :])
    settings = {
        "broker.id": str(node_id),
        "listeners": written(listens),
        "advertised.listeners": written(told),
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,PROXY:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "zookeeper.connect": f"{ADDRESS}:{ports[-1]}",
        "zookeeper.connection.timeout.ms": "30000",
        "log.dirs": "data",
        **small_settings(plan.brokers),
        **plan.settings,
        **plan.per_broker.get(node_id, {}),
    }
    return Broker(
        id=node_id, kind=_broker_kind(plan), folder=folder / str(node_id), ports=listens, settings=settings, plan=plan
    )
