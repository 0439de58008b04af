"""What KRaft brokers and controllers write when a broker goes away, comes back, or hands its leaders over."""

# ruff: noqa: E501 - a line of a log stays one line here
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.production.clusters_timeline import Event, LogTimeline
from bench.production.clusters_world import OFFSETS_TOPIC

if TYPE_CHECKING:
    from random import Random

    from bench.production.clusters_world import SyntheticCluster, Topic

CONTROL = "org.apache.kafka.controller.ReplicationControlManager"
CLUSTER_CONTROL = "org.apache.kafka.controller.ClusterControlManager"
HEARTBEATS = "org.apache.kafka.controller.BrokerHeartbeatManager"
ACTIVE = 3001


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A broker is gone from `start` to `back`; the controller fences it at `fenced`, or never.

    `orphaned` are the partitions of a broker that had shrunk their in-sync replicas to itself: nobody may lead them.
    """

    broker: int
    start: float
    back: float
    fenced: float | None = None
    orphaned: bool = False

    @property
    def led_again(self) -> float:
        """When the broker's partitions have a leader that answers."""
        return self.back if self.orphaned or self.fenced is None else self.fenced


def server_log(broker: int) -> str:
    return f"brokers/kafka-{broker}/server.log"


def state_change_log(broker: int) -> str:
    return f"brokers/kafka-{broker}/state-change.log"


def controller_log(node: int = ACTIVE) -> str:
    return f"controllers/controller-{node}/controller.log"


def log_outage(
    cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, outage: Outage, frozen: bool = True
) -> None:
    """The brokers' and controllers' side of an outage from its start to the return of the preferred leaders."""
    log_fetchers(cluster, timeline, random, outage=outage)
    if frozen:
        timeline.be_quiet(server_log(outage.broker), outage.start, outage.back)
    if outage.fenced is not None:
        log_fence(cluster, timeline, outage=outage)
        if outage.orphaned:
            shrink_to_itself(cluster, timeline, random, broker=outage.broker, at=outage.start - 2)
        else:
            move_leaders(cluster, timeline, random, broker=outage.broker, at=outage.fenced + 0.06)
        log_unfence(cluster, timeline, random, outage=outage)
    shrink_and_expand(cluster, timeline, random, outage=outage)


def shrink_to_itself(
    cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, broker: int, at: float
) -> None:
    for topic, number, replicas in cluster.led_by(broker):
        where, first = (topic.name, number), at + random.uniform(-1.5, 0)
        shrink(timeline, random, where=where, replicas=replicas[:2], out=replicas[1], at=first)


def log_fence(cluster: SyntheticCluster, timeline: LogTimeline, *, outage: Outage) -> None:
    at, broker = outage.fenced or outage.start, outage.broker
    log_prefix = f"[QuorumController id={ACTIVE}]"
    parts = sum(1 for _, _, replicas in cluster.replicas() if broker in replicas)
    timeline.add(
        controller_log(),
        Event(at, "INFO", CONTROL, f"{log_prefix} Fencing broker {broker} because its session has timed out."),
        Event(at + 0.004, "INFO", CONTROL, f"{log_prefix} handleBrokerFenced: changing {parts} partition(s)"),
    )
    _replay_change(cluster, timeline, broker=broker, at=at + 0.02, fenced=1)


def _replay_change(
    cluster: SyntheticCluster, timeline: LogTimeline, *, broker: int, at: float, fenced: int, shutting: int = 0
) -> None:
    record = (
        f"BrokerRegistrationChangeRecord(brokerId={broker}, brokerEpoch={broker_epoch(broker)}, fenced={fenced}, "
        f"inControlledShutdown={shutting}, logDirs=[])"
    )
    for node in cluster.controllers:
        text = (
            f"[QuorumController id={node}] Replayed BrokerRegistrationChangeRecord modifying the registration for "
            f"broker {broker}: {record}"
        )
        timeline.add(controller_log(node), Event(at + 0.003 * (node % 10), "INFO", CLUSTER_CONTROL, text))


def broker_epoch(broker: int) -> int:
    return 48211 + 37 * broker


def log_unfence(cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, outage: Outage) -> None:
    at, broker = outage.back + random.uniform(0.4, 1.9), outage.broker
    log_prefix = f"[QuorumController id={ACTIVE}]"
    text = (
        f"{log_prefix} The request from broker {broker} to unfence has been granted because it has caught up with the "
        f"offset of its register broker record {broker_epoch(broker)}."
    )
    parts = sum(1 for _, _, replicas in cluster.replicas() if broker in replicas)
    timeline.add(
        controller_log(),
        Event(at, "INFO", HEARTBEATS, text),
        Event(at + 0.003, "INFO", CONTROL, f"{log_prefix} handleBrokerUnfenced: changing {parts} partition(s)"),
    )
    _replay_change(cluster, timeline, broker=broker, at=at + 0.02, fenced=-1)
    warn = "Unable to send a heartbeat because the RPC got timed out before it could be sent."
    manager = f"[BrokerLifecycleManager id={broker}]"
    timeline.add(
        server_log(broker),
        Event(outage.back + 0.05, "INFO", "kafka.server.BrokerLifecycleManager", f"{manager} {warn}"),
    )


def log_fetchers(cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, outage: Outage) -> None:
    """Followers of the broker's partitions find out: the first request times out after 30 s, then connections do."""
    until = (outage.fenced or outage.back) + 1
    followers = {r for _, _, replicas in cluster.led_by(outage.broker) for r in replicas[1:]}
    for follower in sorted(followers):
        at = outage.start + random.uniform(30, 30.6)
        while at < until:
            timeline.add(server_log(follower), *fetch_failure(random, follower=follower, leader=outage.broker, at=at))
            at += random.uniform(30.0, 31.5)


def fetch_failure(random: Random, *, follower: int, leader: int, at: float) -> tuple[Event, ...]:
    log_prefix = f"[ReplicaFetcher replicaId={follower}, leaderId={leader}, fetcherId=0]"
    session = f"(sessionId={random.getrandbits(30)}, epoch={random.randint(100, 90000)})"
    trace = (
        f"java.io.IOException: Connection to {leader} was disconnected before the response was read",
        "\tat org.apache.kafka.clients.NetworkClientUtils.sendAndReceive(NetworkClientUtils.java:99)",
        "\tat kafka.server.BrokerBlockingSender.sendRequest(BrokerBlockingSender.scala:114)",
        "\tat kafka.server.RemoteLeaderEndPoint.fetch(RemoteLeaderEndPoint.scala:79)",
        "\tat kafka.server.AbstractFetcherThread.processFetchRequest(AbstractFetcherThread.scala:317)",
    )
    warn = (
        f"{log_prefix} Error in response for fetch request (type=FetchRequest, replicaId={follower}, maxWait=500, minBytes=1, "
        f"maxBytes=10485760, fetchData={{}}, isolationLevel=READ_UNCOMMITTED, removed=, replaced=, metadata={session}, "
        "rackId=)"
    )
    return (
        Event(
            at,
            "INFO",
            "org.apache.kafka.clients.NetworkClient",
            f"{log_prefix} Disconnecting from node {leader} due to request timeout.",
        ),
        Event(
            at + 0.001,
            "INFO",
            "org.apache.kafka.clients.FetchSessionHandler",
            f"{log_prefix} Error sending fetch request {session} to node {leader}:",
            trace,
        ),
        Event(at + 0.002, "WARN", "kafka.server.ReplicaFetcherThread", warn, trace),
    )


def move_leaders(
    cluster: SyntheticCluster,
    timeline: LogTimeline,
    random: Random,
    *,
    broker: int,
    at: float,
    offline: tuple[str, int] = ("", 0),
) -> None:
    """The first replica that is left takes each partition that the broker led."""
    by_new_leader: dict[int, list[tuple[Topic, int, tuple[int, ...]]]] = {}
    for topic, number, replicas in cluster.led_by(broker):
        if (topic.name, number) == offline:
            continue
        by_new_leader.setdefault(replicas[1], []).append((topic, number, replicas))
    for new_leader, rows in sorted(by_new_leader.items()):
        count = f"[Broker id={new_leader}] Transitioning {len(rows)} partition(s) to local leaders."
        timeline.add(state_change_log(new_leader), Event(at, "INFO", "state.change.logger", count))
        for topic, number, replicas in rows:
            _lead(
                timeline,
                random,
                new_leader=new_leader,
                topic=topic,
                number=number,
                isr=replicas[1:],
                before=broker,
                at=at + 0.02,
            )


def return_leaders(cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, broker: int, at: float) -> None:
    """leader.imbalance.check.interval.seconds later the preferred replica leads again."""
    log_prefix = f"[QuorumController id={ACTIVE}]"
    rows = cluster.led_by(broker)
    text = f"{log_prefix} maybeBalancePartitionLeaders: generated {len(rows)} records in {random.randint(900, 9000)} microseconds."
    timeline.add(controller_log(), Event(at, "INFO", "org.apache.kafka.controller.QuorumController", text))
    count = f"[Broker id={broker}] Transitioning {len(rows)} partition(s) to local leaders."
    timeline.add(state_change_log(broker), Event(at + 0.04, "INFO", "state.change.logger", count))
    for topic, number, replicas in rows:
        _lead(
            timeline,
            random,
            new_leader=broker,
            topic=topic,
            number=number,
            isr=replicas,
            before=replicas[1],
            at=at + 0.05,
        )


def _lead(
    timeline: LogTimeline,
    random: Random,
    *,
    new_leader: int,
    topic: Topic,
    number: int,
    isr: tuple[int, ...],
    before: int,
    at: float,
) -> None:
    epoch, offset = 8 + int(at % 1_000_000) // 300, random.randint(10_000, 90_000_000)  # grows with time
    text = (
        f"[Broker id={new_leader}] Leader {topic.name}-{number} with topic id Some({topic.topic_id}) starts at leader epoch "
        f"{epoch} from offset {offset} with partition epoch {epoch + 21}, high watermark {offset}, ISR "
        f"[{','.join(map(str, isr))}], adding replicas [] and removing replicas [] . Previous leader Some({before}) and "
        f"previous leader epoch was {epoch - 1}."
    )
    timeline.add(state_change_log(new_leader), Event(at + random.uniform(0, 0.03), "INFO", "state.change.logger", text))
    if topic.name == OFFSETS_TOPIC:
        _coordinate(timeline, random, new_leader=new_leader, number=number, at=at + 0.05)


def _coordinate(timeline: LogTimeline, random: Random, *, new_leader: int, number: int, at: float) -> None:
    took, epoch = random.randint(3, 140), random.randint(8, 60)
    manager = f"[GroupMetadataManager brokerId={new_leader}]"
    timeline.add(
        server_log(new_leader),
        Event(
            at,
            "INFO",
            "kafka.coordinator.group.GroupCoordinator",
            f"[GroupCoordinator {new_leader}]: Elected as the group coordinator for partition {number} in epoch {epoch}",
        ),
        Event(
            at + 0.001,
            "INFO",
            "kafka.coordinator.group.GroupMetadataManager",
            f"{manager} Scheduling loading of offsets and group metadata from {OFFSETS_TOPIC}-{number} for epoch {epoch}",
        ),
        Event(
            at + 0.001 + took / 1000,
            "INFO",
            "kafka.coordinator.group.GroupMetadataManager",
            f"{manager} Finished loading offsets and group metadata from {OFFSETS_TOPIC}-{number} in {took} milliseconds for epoch {epoch}, of which 1 milliseconds was spent in the scheduler.",
        ),
    )


def shrink_and_expand(cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, outage: Outage) -> None:
    """Leaders drop the broker from their in-sync replicas after replica.lag.time.max.ms, and take it back later."""
    if outage.back - outage.start < 30 or (outage.fenced or outage.back) - outage.start < 30:  # noqa: PLR2004 - 30 s
        return
    for topic, number, replicas in cluster.replicas():
        if outage.broker not in replicas[1:]:
            continue
        at = outage.start + random.uniform(30, 44)
        shrink(timeline, random, where=(topic.name, number), replicas=replicas, out=outage.broker, at=at)
        expand(timeline, random, where=(topic.name, number), replicas=replicas, at=outage.back + random.uniform(2, 14))


def shrink(
    timeline: LogTimeline, random: Random, *, where: tuple[str, int], replicas: tuple[int, ...], out: int, at: float
) -> None:
    name, leader, offset = f"{where[0]}-{where[1]}", replicas[0], random.randint(10_000, 90_000_000)
    left = ",".join(str(r) for r in replicas if r != out)
    log_prefix = f"[Partition {name} broker={leader}]"
    text = (
        f"{log_prefix} Shrinking ISR from {','.join(map(str, replicas))} to {left}. Leader: (highWatermark: {offset}, endOffset: "
        f"{offset + random.randint(1, 900)}). Out of sync replicas: (brokerId: {out}, endOffset: {offset}, "
        f"lastCaughtUpTimeMs: {int(at * 1000) - random.randint(30001, 44000)})."
    )
    update = f"{log_prefix} ISR updated to {left}  and version updated to {random.randint(20, 90)}"
    timeline.add(
        server_log(leader),
        Event(at, "INFO", "kafka.cluster.Partition", text),
        Event(at + 0.02, "INFO", "kafka.cluster.Partition", update),
    )


def expand(
    timeline: LogTimeline, random: Random, *, where: tuple[str, int], replicas: tuple[int, ...], at: float
) -> None:
    log_prefix = f"[Partition {where[0]}-{where[1]} broker={replicas[0]}]"
    text = (
        f"{log_prefix} ISR updated to {','.join(map(str, replicas))}  and version updated to {random.randint(20, 90)}"
    )
    timeline.add(server_log(replicas[0]), Event(at, "INFO", "kafka.cluster.Partition", text))


def log_orderly_restart(
    cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, broker: int, at: float
) -> float:
    """A controlled shutdown, a start some 40 s later, and the time at which the broker serves again."""
    log_prefix, life = f"[QuorumController id={ACTIVE}]", "kafka.server.BrokerLifecycleManager"
    parts = len(cluster.led_by(broker))
    timeline.add(
        controller_log(),
        Event(
            at,
            "INFO",
            HEARTBEATS,
            f"{log_prefix} Unfenced broker {broker} has requested and been granted a controlled shutdown.",
        ),
        Event(
            at + 0.003,
            "INFO",
            CONTROL,
            f"{log_prefix} enterControlledShutdown[{broker}]: changing {parts} partition(s)",
        ),
        Event(
            at + 2.1,
            "INFO",
            HEARTBEATS,
            f"{log_prefix} The request from broker {broker} to shut down has been granted since the lowest active offset {int(at)} is now greater than the broker's controlled shutdown offset {int(at) - 4}.",
        ),
    )
    _replay_change(cluster, timeline, broker=broker, at=at + 0.02, fenced=0, shutting=1)
    _replay_change(cluster, timeline, broker=broker, at=at + 2.15, fenced=1)
    move_leaders(cluster, timeline, random, broker=broker, at=at + 0.05)
    timeline.add(
        server_log(broker),
        Event(
            at - 0.1,
            "INFO",
            "org.apache.kafka.common.utils.LoggingSignalHandler",
            "Terminating process due to signal SIGTERM",
        ),
        Event(at - 0.05, "INFO", life, f"[BrokerLifecycleManager id={broker}] Beginning controlled shutdown."),
        Event(
            at + 2.2,
            "INFO",
            life,
            f"[BrokerLifecycleManager id={broker}] The controller has asked us to exit controlled shutdown.",
        ),
        Event(
            at + 2.2,
            "INFO",
            life,
            f"[BrokerLifecycleManager id={broker}] Transitioning from PENDING_CONTROLLED_SHUTDOWN to SHUTTING_DOWN.",
        ),
        Event(at + 5.4, "INFO", "kafka.server.BrokerServer", f"[BrokerServer id={broker}] shut down completed"),
    )
    up = at + random.uniform(38, 60)
    timeline.be_quiet(server_log(broker), at + 2.3, up)
    log_start(cluster, timeline, random, broker=broker, at=up)
    return_leaders(cluster, timeline, random, broker=broker, at=up + random.uniform(9, 30))
    return up


def log_start(
    cluster: SyntheticCluster, timeline: LogTimeline, random: Random, *, broker: int, at: float, unclean: bool = False
) -> None:
    life, log_prefix = "kafka.server.BrokerLifecycleManager", f"[BrokerLifecycleManager id={broker}]"
    logs = sum(1 for _, _, replicas in cluster.replicas() if broker in replicas)
    load = (
        f"Recovering {logs} logs from /var/lib/kafka/data since no clean shutdown file was found"
        if unclean
        else f"Skipping recovery of {logs} logs from /var/lib/kafka/data since clean shutdown file was found"
    )
    timeline.add(
        server_log(broker),
        Event(at - 20, "INFO", "kafka.server.BrokerServer", f"[BrokerServer id={broker}] Starting broker"),
        Event(at - 19, "INFO", "kafka.log.LogManager", load),
        Event(at - 6, "INFO", "kafka.log.LogManager", f"Loaded {logs} logs in {random.randint(700, 12000)}ms"),
        Event(
            at - 4,
            "INFO",
            life,
            f"{log_prefix} Incarnation {'Q' + str(broker)}kXr2bTQ0yWn4mVd7HsPg of broker {broker} in cluster {cluster.cluster_id} is now STARTING.",
        ),
        Event(
            at - 3,
            "INFO",
            life,
            f"{log_prefix} Successfully registered broker {broker} with broker epoch {broker_epoch(broker)}",
        ),
        Event(at - 1, "INFO", life, f"{log_prefix} The broker has caught up. Transitioning from STARTING to RECOVERY."),
        Event(at, "INFO", life, f"{log_prefix} The broker has been unfenced. Transitioning from RECOVERY to RUNNING."),
        Event(
            at + 0.2,
            "INFO",
            "kafka.server.KafkaRaftServer",
            f"[KafkaRaftServer nodeId={broker}] Kafka Server started",
        ),
    )
    request_line = f"[QuorumController id={ACTIVE}] The request from broker {broker} to unfence has been granted because it has caught up with the offset of its register broker record {broker_epoch(broker)}."
    timeline.add(controller_log(), Event(at - 0.2, "INFO", HEARTBEATS, request_line))
