"""What brokers of the ZooKeeper era (2.8) write when the controller learns late that a broker is gone."""

# ruff: noqa: E501 - a line of a log stays one line here
from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from bench.production.clusters_brokers import (
    Outage,
    log_fetchers,
    server_log,
    shrink_and_expand,
    state_change_log,
)
from bench.production.clusters_clients import NETWORK
from bench.production.clusters_timeline import Event, LogTimeline
from bench.production.clusters_world import OFFSETS_TOPIC

if TYPE_CHECKING:
    from random import Random

    from bench.production.clusters_world import SyntheticCluster

CONTROLLER, EPOCH = 2, 31
LOGGER = "kafka.controller.KafkaController"


def log_zookeeper_outage(cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, outage: Outage) -> None:
    """The session in ZooKeeper outlives the broker's data plane; its partitions keep their leader until it ends."""
    log_fetchers(cluster, timeline, random, outage=outage)
    shrink_and_expand(cluster, timeline, random, outage=outage)
    _word_as_2_8(timeline)
    timeline.be_quiet(server_log(outage.broker), outage.start, outage.back)
    _log_requests(cluster, timeline, random, outage=outage)
    ended = outage.fenced or outage.back
    _log_death(cluster, timeline, random, broker=outage.broker, at=ended)
    _log_return(cluster, timeline, broker=outage.broker, at=outage.back + 4)


def _word_as_2_8(timeline: LogTimeline) -> None:
    """2.8 has other words for the same: zkVersion, no line for a request's timeout, another place in the source."""
    for path, events in timeline.events.items():
        timeline.events[path] = [_event_of_2_8(event) for event in events if event.logger != NETWORK]


def _event_of_2_8(event: Event) -> Event:
    text = re.sub(
        r"ISR updated to (\S+)  and version updated to (\d+)",
        r"ISR updated to [\1] and zkVersion updated to [\2]",
        event.message,
    )
    trace = tuple(
        row.replace(
            "RemoteLeaderEndPoint.fetch(RemoteLeaderEndPoint.scala:79)",
            "ReplicaFetcherThread.fetchFromLeader(ReplicaFetcherThread.scala:205)",
        )
        .replace("BrokerBlockingSender.", "ReplicaFetcherBlockingSend.")
        .replace("BrokerBlockingSender", "ReplicaFetcherBlockingSend")
        for row in event.trace
    )
    return replace(event, message=text, trace=trace)


def _path() -> str:
    return f"brokers/kafka-{CONTROLLER}/controller.log"


def _node(cluster: SyntheticCluster, broker: int) -> str:
    return f"{cluster.host(broker)}:9092 (id: {broker} rack: null)"


def _log_requests(cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, outage: Outage) -> None:
    head, node = f"[RequestSendThread controllerId={CONTROLLER}]", _node(cluster, outage.broker)
    at = outage.start + random.uniform(31, 40)
    text = f"{head} Controller {CONTROLLER}'s connection to broker {node} was unsuccessful"
    trace = (
        f"java.net.SocketTimeoutException: Failed to connect within 30000 ms",  # noqa: F541 - as its neighbours
        "\tat kafka.controller.RequestSendThread.brokerReady(ControllerChannelManager.scala:298)",
        "\tat kafka.controller.RequestSendThread.doWork(ControllerChannelManager.scala:251)",
        "\tat kafka.utils.ShutdownableThread.run(ShutdownableThread.scala:96)",
    )
    timeline.add(_path(), Event(at, "WARN", "kafka.controller.RequestSendThread", text, trace))


def _log_death(cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, broker: int, at: float) -> None:
    live = ",".join(str(b) for b in cluster.brokers if b != broker)
    head = f"[Controller id={CONTROLLER}]"
    timeline.add(
        _path(),
        Event(
            at,
            "INFO",
            LOGGER,
            f"{head} Newly added brokers: , deleted brokers: {broker}, bounced brokers: , all live brokers: {live}",
        ),
        Event(
            at + 0.01,
            "INFO",
            "kafka.controller.RequestSendThread",
            f"[RequestSendThread controllerId={CONTROLLER}] Shutting down",
        ),
        Event(at + 0.02, "INFO", LOGGER, f"{head} Broker failure callback for {broker}"),
    )
    for topic, number, replicas in cluster.led_by(broker):
        epoch, new_leader = random.randint(5, 60), replicas[1]
        name, when = f"{topic.name}-{number}", at + random.uniform(0.05, 0.4)
        isr = ", ".join(map(str, replicas[1:]))
        change = f"[Controller id={CONTROLLER} epoch={EPOCH}] Changed partition {name} from OfflinePartition to OnlinePartition with state LeaderAndIsr(leader={new_leader}, leaderEpoch={epoch}, isr=List({isr}), zkVersion={epoch + 9})"
        timeline.add(state_change_log(CONTROLLER), Event(when, "INFO", "state.change.logger", change))
        if topic.name == OFFSETS_TOPIC:
            text = f"[GroupCoordinator {new_leader}]: Elected as the group coordinator for partition {number} in epoch {epoch}"
            timeline.add(
                server_log(new_leader), Event(when + 0.1, "INFO", "kafka.coordinator.group.GroupCoordinator", text)
            )


def _log_return(cluster: SyntheticCluster, timeline: LogTimeline, *, broker: int, at: float) -> None:
    live = ",".join(map(str, cluster.brokers))
    head = f"[Controller id={CONTROLLER}]"
    zookeeper = "org.apache.zookeeper.ClientCnxn"
    timeline.add(
        _path(),
        Event(
            at,
            "INFO",
            LOGGER,
            f"{head} Newly added brokers: {broker}, deleted brokers: , bounced brokers: , all live brokers: {live}",
        ),
        Event(at + 0.02, "INFO", LOGGER, f"{head} New broker startup callback for {broker}"),
        Event(at + 290, "INFO", LOGGER, f"{head} Processing automatic preferred replica leader election"),
    )
    timeline.add(
        server_log(broker),
        Event(
            at - 3.9,
            "WARN",
            zookeeper,
            "Client session timed out, have not heard from server in 12004ms for sessionid 0x30004a1b2c90001",
        ),
        Event(
            at - 2.0,
            "WARN",
            zookeeper,
            "Unable to reconnect to ZooKeeper service, session 0x30004a1b2c90001 has expired",
        ),
        Event(at - 1.9, "INFO", "kafka.zookeeper.ZooKeeperClient", "[ZooKeeperClient Kafka server] Session expired."),
        Event(
            at - 0.4,
            "INFO",
            "kafka.zk.KafkaZkClient",
            f"Registered broker {broker} at path /brokers/ids/{broker} with addresses: PLAINTEXT://{cluster.host(broker)}:9092, czxid (broker epoch): {int(at)}",
        ),
    )
