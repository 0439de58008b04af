"""Brokers and controllers, ZooKeeper era and KRaft."""

from __future__ import annotations

from leadsman import vocabulary as v
from leadsman.telemetry.source import Signature, Source

PARTITION = r"(?P<topic>[\w.-]+)-(?P<partition>\d+)"

CONTROLLER = (
    Signature(v.BROKER_FENCED, r"Fencing broker (?P<node>\d+) (?:at epoch \d+ )?because its session has timed out"),
    Signature(v.BROKER_FENCED, r"Newly added brokers: [\d,]{0,200}, deleted brokers: (?P<node>\d+)\b"),
    Signature(v.BROKER_UNFENCED, r"Newly added brokers: (?P<node>\d+)\b"),
    Signature(v.BROKER_UNFENCED, r"The request from broker (?P<node>\d+) to unfence has been granted"),
    Signature(
        v.SESSION_EXPIRED,
        r"Expiring session (?P<session>0x[0-9a-f]+), timeout of (?P<value>\d+)ms exceeded",
        scale=0.001,
    ),
    Signature(v.LEADERS_MOVED, r"handleBrokerFenced: changing (?P<value>\d+) partition\(s\)"),
    Signature(v.PREFERRED_ELECTION, r"Starting replica leader election \(PREFERRED\) for partitions"),
    Signature(v.PREFERRED_ELECTION, r"Periodic task electPreferred generated (?P<value>\d+) records"),
    Signature(v.CONTROLLER_ELECTED, r"\b(?P<node>\d+) successfully elected as the controller"),
    Signature(v.CONTROLLER_ELECTED, r"\[QuorumController id=(?P<node>\d+)\] Becoming the active controller"),
    # A standby controller with ZooKeeper writes none of these lines; with KRaft, it replays what the active one does.
    Signature(v.CONTROLLER_SEEN, r"\[QuorumController id=(?P<node>\d+)\] ", once=True),
    Signature(
        v.CONTROLLER_SEEN,
        r"\[Controller id=(?P<node>\d+)\] (?:Processing automatic preferred|Newly added brokers|New topics)",
        once=True,
    ),
)

LEADERSHIP = (
    Signature(
        v.PARTITION_STATE,
        rf"\[Broker id=(?P<leader>\d+)\] Leader {PARTITION} (?:with topic id [^\n]{{1,60}} )?starts at leader epoch "
        r"(?P<epoch>\d+) from offset [^\n]{1,90} ISR \[(?P<isr>[\d,]*)\]",
    ),
    Signature(
        v.PARTITION_STATE,
        rf"\[Partition {PARTITION} broker=(?P<leader>\d+)\] [\w.-]{{1,255}} starts at leader epoch (?P<epoch>\d+) from",
    ),
    Signature(
        v.ISR_SHRUNK,
        rf"\[Partition {PARTITION} broker=(?P<leader>\d+)\] Shrinking ISR from (?P<before>[\d,]{{1,200}}) to "
        r"(?P<isr>[\d,]+)\b",
    ),
    Signature(
        v.ISR_UPDATED,
        rf"\[Partition {PARTITION} broker=(?P<leader>\d+)\] ISR updated to \[?(?P<isr>[\d,]*)\]? *"
        r"(?:\((?P<min_isr>under)-min-isr\) *)?and (?:version|zkVersion) updated",
    ),
    Signature(
        v.ISR_UPDATED,
        rf"\[Partition {PARTITION} broker=(?P<leader>\d+)\] Expanding ISR from [\d,]{{1,200}} to (?P<isr>[\d,]+)\b",
    ),
    # ZooKeeper's controller, then KRaft's. The latter logs at INFO only what was not clean.
    Signature(v.PARTITION_OFFLINE, rf"Changed partition {PARTITION} state from \w{{1,30}} to OfflinePartition\b"),
    Signature(v.PARTITION_OFFLINE, rf"artition change for {PARTITION} with topic ID [^\n]{{1,300}}leader: \d+ -> -1\b"),
    Signature(
        v.PARTITION_ONLINE,
        rf"Changed partition {PARTITION} from OfflinePartition to OnlinePartition with state "
        r"LeaderAndIsr\(leader=(?P<leader>\d+)\b",
    ),
    Signature(
        v.PARTITION_ONLINE,
        rf"artition change for {PARTITION} with topic ID [^\n]{{1,300}}leader: -1 -> (?P<leader>\d+)\b",
    ),
    Signature(v.UNCLEAN_ELECTION, rf"UNCLEAN partition change for {PARTITION} with topic ID "),
    # 2.x names the set, 4.x its size and then the set.
    Signature(
        v.WRITE_REFUSED,
        r"NotEnoughReplicasException: The size of the current ISR [^\n]{1,200} is insufficient to satisfy the min\.isr "
        rf"requirement of (?P<wanted>\d+) for partition {PARTITION}\b",
    ),
)

DISKS = (
    Signature(v.LOG_DIR_FAILED, r"Stopping serving (?:logs|replicas) in dir (?P<dir>[^ \n]+) \(", names_source=False),
    Signature(v.LOG_DIR_FAILED, r"broker=(?P<node>\d+)\] Stopping serving replicas in dir (?P<dir>[^ \n]+) with uuid"),
    Signature(
        v.LOG_DIR_FAILED,
        r"Shutdown broker because all log dirs in (?P<dir>[^\n]{1,300}) have failed",
        labels={"shutdown": "true"},
    ),
    Signature(v.LOG_DIR_FAILED, r"Log directory (?P<dir>[^ \n]+) (?:is|was marked as) offline"),
    Signature(v.LOG_DIR_FAILED, r"errors\.(?P<error>KafkaStorageException)", names_source=False),
)

# The coordinator of groups, before and since 4.0.
GROUPS = (
    Signature(
        v.GROUP_STATE,
        r"Preparing to rebalance group (?P<group>[^ \n]+) in state (?P<from>\w+) with old generation "
        r"(?P<generation>\d+) ",
        labels={"state": "PreparingRebalance"},
    ),
    Signature(
        v.GROUP_STATE,
        r"Stabilized group (?P<group>[^ \n]+) generation (?P<generation>\d+) ",
        labels={"state": "Stable"},
    ),
    Signature(
        v.GROUP_STATE,
        r"Group (?P<group>[^ \n]+) with generation (?P<generation>\d+) is now empty",
        labels={"state": "Empty"},
    ),
)

SOURCE = Source(
    "broker",
    "Kafka broker",
    "broker",
    (
        *CONTROLLER,
        *LEADERSHIP,
        *DISKS,
        *GROUPS,
        Signature(
            v.BROKER_STARTING, r"Registered [`']?kafka:type=kafka\.Log4jController[`']? MBean", names_source=False
        ),
        Signature(v.BROKER_STARTING, r"\[BrokerServer id=(?P<node>\d+)\] Starting broker\b"),
        Signature(v.BROKER_STARTING, r"\[BrokerServer id=(?P<node>\d+)\] Transition from SHUTDOWN to STARTING\b"),
        Signature(v.BROKER_STARTED, r"\[(?:KafkaServer|BrokerServer) id=(?P<node>\d+)\] started"),
        Signature(v.BROKER_STARTED, r"\[KafkaRaftServer nodeId=(?P<node>\d+)\] Kafka Server started"),
        Signature(v.BROKER_STARTED, r"\[Kafka Server (?P<node>\d+)\], started"),
        Signature(v.BROKER_STOPPING, r"\[(?:KafkaServer|BrokerServer) id=(?P<node>\d+)\] shutting down"),
        Signature(v.BROKER_STOPPING, r"\[Kafka Server (?P<node>\d+)\], shutting down"),
        Signature(v.BROKER_STOPPING, r"\[KafkaServer id=(?P<node>\d+)\] Starting controlled shutdown"),
        Signature(v.BROKER_STOPPING, r"\[BrokerLifecycleManager id=(?P<node>\d+)\] Beginning controlled shutdown"),
        # Logged by the controller, ZooKeeper era and KRaft.
        Signature(v.BROKER_STOPPING, r"\[Controller id=\d+\] Shutting down broker (?P<node>\d+)\b"),
        Signature(v.BROKER_STOPPING, r"broker (?P<node>\d+) has requested and been granted a controlled shutdown"),
        # Connect and other tools print the same line, but not in the same file as their clients' lines.
        Signature(
            v.BROKER_STOPPING, r"Terminating process due to signal (?P<signal>SIG[A-Z0-9]+)\b", names_source=False
        ),
        Signature(
            v.AUTHENTICATION_FAILED,
            # Clients log the same sentence behind their own prefix, [Producer clientId=...].
            r"(?:(?:nodeId|brokerId)=\d+\] |[^\]] |^)Failed (?:re-)?authentication with "
            r"[^\n]{0,80}/(?P<address>[^ \n]+) \(",
        ),
        Signature(
            v.AUTHORIZATION_FAILED,
            r"Principal = (?P<principal>[^ \n]{1,200}) is Denied [oO]peration = (?P<operation>\w+) from host = "
            r"(?P<address>[^ \n]{1,60}) on resource = (?P<resource>\w+):\w+:(?P<name>[^ \n]{1,300}) ",
        ),
        # From 3.5 to 3.9 there is no space after the bracket.
        Signature(
            v.PRODUCERS_COUNTED,
            r"\[ProducerStateManager partition=(?P<topic>[\w.-]+)-(?P<partition>\d+)\] ?Wrote producer snapshot "
            r"at offset (?P<offset>\d+) with (?P<value>\d+) producer ids\b",
            labels={"via": "broker_log"},
        ),
        # The request log, at DEBUG: the only log of a broker that names the client that requests an id.
        Signature(
            v.PRODUCER_ID_TAKEN,
            r'"clientId":"(?P<client_id>[^"\n]{1,200})","requestApiKeyName":"INIT_PRODUCER_ID"[^\n]{0,900}'
            r'"connection":"[^"\n]{1,60}-(?P<host>[^"\n-]{1,60}):\d+-',
        ),
        Signature(
            v.CONNECTION_LOST,
            r"java\.io\.IOException: Connection to (?P<node>[^ \n]+) was disconnected before the response was read",
            labels={"api": "FETCH"},
        ),
        # A replica fetcher's connection to its leader (NetworkClientUtils.awaitReady).
        Signature(
            v.CONNECTION_REFUSED,
            r"java\.io\.IOException: Connection to (?P<address>[^ \n]{1,300}) \(id: (?P<node>-?\d+) rack: "
            r"[^)\n]{0,200}\) failed\b",
        ),
    ),
)
